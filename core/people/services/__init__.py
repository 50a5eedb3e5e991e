"""Changes to people, their roles and their consent, one transaction each."""
