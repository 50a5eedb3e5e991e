"""Projects, captions and work for programs: through the same permissions and services as the pages."""
