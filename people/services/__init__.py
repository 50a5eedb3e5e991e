"""What changes people, their roles and what they agreed to: one transaction each."""
