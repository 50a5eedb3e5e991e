"""Changes to comparisons and judgements, one transaction each."""
