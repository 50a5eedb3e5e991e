"""Reports: figures that are there or say why not, as lines for people and as JSON for programs."""
