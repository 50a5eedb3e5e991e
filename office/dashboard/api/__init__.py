"""A project as a whole, for programs."""
