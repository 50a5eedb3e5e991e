"""Changes to references and scores, one transaction each."""
