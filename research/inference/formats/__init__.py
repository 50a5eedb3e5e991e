"""Read and write files of images, vectors and pairs."""
