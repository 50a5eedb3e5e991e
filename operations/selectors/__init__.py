"""What is asked of the database and the broker, and changes nothing."""
