"""What pages about people and projects compute."""
