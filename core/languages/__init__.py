"""The languages that are written in: names, direction, word spacing, scripts and aliases."""
