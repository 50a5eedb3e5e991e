"""What managers and operators run: practice, recruitment, what spans apps, and operations."""
