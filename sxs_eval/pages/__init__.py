"""Results as pages show them: figures in words, with their plots."""
