"""The file of a campaign: what it may hold, reading and writing it."""
