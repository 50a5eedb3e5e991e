"""Reports of images, questions to managers, and the inbox in which managers answer them."""
