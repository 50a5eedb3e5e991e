"""Making backups and restoring them."""
