"""Forms of the pages of annotation."""
