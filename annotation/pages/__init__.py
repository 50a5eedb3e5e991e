"""What managers read, as pages show it: figures in words, with their plots."""
