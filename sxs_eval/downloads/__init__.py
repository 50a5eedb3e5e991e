"""What can be downloaded: judgements row by row, and tables of the figures."""
