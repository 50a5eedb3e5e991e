"""What leaves the installation as files."""
