"""What is written about images and to managers, and what managers answer."""
