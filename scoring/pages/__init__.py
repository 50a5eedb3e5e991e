"""Scores as pages show them: lines of tables, and plots as numbers."""
