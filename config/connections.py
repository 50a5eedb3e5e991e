"""What an installation stands on: its database, queue, cache, storage and mail server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import environ

from config.variables import Variables


class Connections(Variables):
    """The settings of each, embedded or as the variables say."""

    def database(self) -> dict[str, Any]:
        if self.is_embedded:
            return {
                "ENGINE": "config.sqlite",
                "NAME": self.var / "crosslens.sqlite3",
                # One writer at a time, who waits for the lock from the start: nobody fails half-way (docs/decisions).
                "OPTIONS": {
                    "timeout": 20,
                    "transaction_mode": "IMMEDIATE",
                    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                },
                "CONN_MAX_AGE": None,
            }
        # A local server may be reached by its socket: postgres://USER@/NAME?host=/run/postgresql
        has_socket = "host" in parse_qs(self._split("DATABASE_URL", self.variables["DATABASE_URL"]).query)
        parts = self._url("DATABASE_URL", {"postgres", "postgresql"}, host=not has_socket)
        if len(parts.path) < 2:
            raise self._malformed("DATABASE_URL", "names no database")
        database: dict[str, Any] = environ.Env.db_url_config(self.variables["DATABASE_URL"])
        return {
            **database,
            "OPTIONS": {
                # An absent server is reported at once, instead of blocking for two minutes.
                "connect_timeout": 10,
                # What `compiled_query` has asked this often is prepared on the server; Django prepares nothing.
                "prepare_threshold": 5,
                **database.get("OPTIONS", {}),
            },
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": True,
        }

    def celery(self) -> dict[str, Any]:
        if self.is_embedded:
            folders = {name: str(self.var / "queue" / name) for name in ("messages", "processed", "control")}
            for folder in folders.values():
                Path(folder).mkdir(parents=True, exist_ok=True)
            return {
                "broker_url": "filesystem://localhost",
                "broker_transport_options": {
                    "data_folder_in": folders["messages"],
                    "data_folder_out": folders["messages"],
                    "processed_folder": folders["processed"],
                    "control_folder": folders["control"],
                    "polling_interval": 0.05,
                },
            }
        parts = self._url("CELERY_BROKER_URL", {"redis", "rediss"})
        if not re.fullmatch(r"/?\d*", parts.path):
            raise self._malformed("CELERY_BROKER_URL", "names a database that is not a number")
        # A task in flight when its worker dies comes back after this long; the sweeps do not wait for it.
        return {
            "broker_url": self.variables["CELERY_BROKER_URL"],
            "broker_transport_options": {
                "visibility_timeout": 600,
                # A connection that nobody answers ends and is made anew, instead of holding worker or beat for ever.
                "socket_connect_timeout": 10,
                "socket_timeout": 30,
                "socket_keepalive": True,
            },
        }

    def cache(self) -> dict[str, Any]:
        if self.is_embedded:
            # Files, not memory: the web processes must count failed attempts together.
            return {
                "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
                "LOCATION": self.var / "cache",
                # The default of 300 would let a flood of attempts push out the counters of others.
                "OPTIONS": {"MAX_ENTRIES": 10_000},
            }
        if self.variables.get("CACHE_URL"):
            self._url("CACHE_URL", {"redis", "rediss"})
        location = self.variables.get("CACHE_URL") or self.variables["CELERY_BROKER_URL"]
        return {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": location,
            "KEY_PREFIX": "crosslens",
        }

    def storage(self) -> dict[str, Any]:
        if self.is_embedded:
            return {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": self.var / "media"},
            }
        parts = self._url("STORAGE_URL", {"s3", "file"}, host=False)
        if parts.scheme == "file":
            if not parts.path.startswith("/") or parts.netloc:
                raise self._malformed("STORAGE_URL", "does not name an absolute folder")
            return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": parts.path}}
        if not parts.hostname:
            raise self._malformed("STORAGE_URL", "names no bucket")
        if "@" in parts.netloc:
            raise self._malformed(
                "STORAGE_URL", "has a key in it. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"
            )
        if parts.path.strip("/"):
            raise self._malformed("STORAGE_URL", "has a path; a bucket is used as a whole")
        query = parse_qs(parts.query, keep_blank_values=True)
        unknown = set(query) - {"region", "endpoint", "addressing"}
        if unknown:
            raise self._malformed("STORAGE_URL", "has settings other than region, endpoint and addressing")
        if not all(value for [value, *_more] in query.values()):
            raise self._malformed("STORAGE_URL", "has a setting without a value")
        endpoint = query.get("endpoint", ["https://s3"])[0]
        if self._split("STORAGE_URL", endpoint).scheme not in ("http", "https"):
            raise self._malformed("STORAGE_URL", "has an endpoint that is not an http address")
        if query.get("addressing", ["auto"])[0] not in ("auto", "path", "virtual"):
            raise self._malformed("STORAGE_URL", "has an addressing other than auto, path or virtual")
        options: dict[str, Any] = {
            "bucket_name": parts.netloc,
            "default_acl": None,
            "querystring_auth": True,
            "file_overwrite": True,
        }
        names = {"region": "region_name", "endpoint": "endpoint_url", "addressing": "addressing_style"}
        options |= {names[name]: values[0] for name, values in query.items()}
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}

    def email(self) -> dict[str, Any]:
        if self.is_embedded:
            return {
                "EMAIL_BACKEND": "django.core.mail.backends.filebased.EmailBackend",
                "EMAIL_FILE_PATH": self.var / "mail",
            }
        has_host = not self.variables["EMAIL_URL"].startswith("consolemail")
        self._url("EMAIL_URL", {"smtp", "smtps", "smtp+tls", "smtp+ssl", "consolemail"}, host=has_host)
        return environ.Env.email_url_config(self.variables["EMAIL_URL"])
