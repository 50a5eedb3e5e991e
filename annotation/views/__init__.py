"""Pages of annotators and managers."""
