"""The ASGI server's side of Django: bodies are read before a thread is used, answers are streamed."""
