"""Decisions from values alone: levels, tables of languages, and the selection of images."""
