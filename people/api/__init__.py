"""What every part of the API stands on: who asks, how it refuses, how it pages; and people's own addresses."""
