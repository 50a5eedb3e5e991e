"""What all else needs: people, images, languages, and the one door to work."""
