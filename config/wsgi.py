"""Django as WSGI has it; config/asgi.py serves it."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

# What was loaded up to here stays for good: the collector need not walk it again and again during requests.
gc.collect()
gc.freeze()
