"""The API of studies and of what work costs, for managers."""
