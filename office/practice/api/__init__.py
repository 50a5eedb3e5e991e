"""The API of practice: tries with what people wrote about them, and further ones."""
