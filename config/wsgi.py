"""Django as WSGI has it; config/asgi.py serves it."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
# All addresses and their views: otherwise the first person to ask would wait for a second.
_ = get_resolver().url_patterns

# What was loaded up to here stays for good: the collector need not walk it again and again during requests.
gc.collect()
gc.freeze()
