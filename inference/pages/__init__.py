"""Models, runs and workers as pages show them: lines of tables, counts and shares."""
