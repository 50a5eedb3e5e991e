"""Applying the file of a campaign, part by part."""
