"""What is connected to the signals of Django and Celery."""
