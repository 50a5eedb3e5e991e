"""Counting, telling whether the installation is ready, making backups and restoring them."""
