"""Plots as SVG from numbers: bars, columns, dots, ranges, scatter, stacks, and figures as text."""
