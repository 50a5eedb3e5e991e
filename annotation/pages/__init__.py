"""What the managers' pages show: figures in words, with their plots."""
