"""Decisions from values alone: scripts, their codes, and the 36 languages of Crossmodal-3600."""
