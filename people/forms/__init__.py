"""The shape of what people send in."""
