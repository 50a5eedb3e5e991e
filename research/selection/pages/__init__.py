"""What pages about places, selections and subsets compute."""
