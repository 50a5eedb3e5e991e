"""What pages of a project as a whole show."""
