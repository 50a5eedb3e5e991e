"""Work handed out, finished, returned and taken back, one transaction each."""
