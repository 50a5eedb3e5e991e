"""The API of choosing images by place."""
