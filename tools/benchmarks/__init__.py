"""Measurements, run by `make bench`: ratios against a peer or a baseline of the same run, never a timed test."""
