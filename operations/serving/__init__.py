"""The ASGI server's side of Django: bodies read before a thread is given, answers in streams."""
