"""What pages of recruitment compute."""
