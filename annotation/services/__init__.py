"""Changes to annotation's rows, one transaction each."""
