"""The demo: real photographs, captions of mixed quality, people to sign in as, and the launcher."""
