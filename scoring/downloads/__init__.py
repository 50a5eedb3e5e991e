"""Exports of scores."""
