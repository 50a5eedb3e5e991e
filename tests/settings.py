"""The embedded settings in a temporary folder, so that tests never touch the checkout's var/."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from config.variables import OPTIONAL, REQUIRED
from research.inference.rules.endpoints import KEY_VARIABLE

for _name in (*REQUIRED, *OPTIONAL, *(_name for _name in os.environ if _name.startswith(KEY_VARIABLE))):
    os.environ.pop(_name, None)
# Each process has a folder of its own: the workers of pytest-xdist run at the same time.
os.environ["CROSSLENS_VAR"] = tempfile.mkdtemp(prefix="crosslens_test_")
atexit.register(shutil.rmtree, os.environ["CROSSLENS_VAR"], ignore_errors=True)
# The threads of several processes spin while they wait for one another on few cores: 34 s of processor instead of 3.
os.environ["OMP_NUM_THREADS"] = "1"
# Playwright keeps an event loop in the thread of the tests, which then read the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

from config.settings import *  # noqa: E402, F403 - Django's own way to stand settings on settings
from config.settings import DATABASES, STORAGES  # noqa: E402

# Nobody listens there: no test reaches Prolific.
PROLIFIC_API = "http://127.0.0.1:9/api/v1"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
# Without a manifest, so that no test needs collectstatic.
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
# Threads need the test database on a file, not in memory.
DATABASES = {"default": DATABASES["default"] | {"TEST": {"NAME": Path(os.environ["CROSSLENS_VAR"]) / "test.sqlite3"}}}
