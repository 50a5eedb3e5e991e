"""The commands of the library: each takes its options and writes lines; `manage.py` of the platform calls the same."""
