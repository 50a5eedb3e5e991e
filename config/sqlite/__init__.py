"""Django's SQLite, in which the threads of a process take turns to write."""
