"""Models and their runs, scores with their signatures, and images chosen by place."""
