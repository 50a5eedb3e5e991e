"""What operations of the API about assigned work share."""
