"""What comes before annotation: where images were taken, and choosing them by where languages are spoken."""
