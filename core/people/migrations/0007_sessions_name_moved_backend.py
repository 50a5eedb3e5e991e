"""A session names the class that signed somebody in, whose module has moved."""

from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations

MOVED = {"people.allauth_adapter.AccountBackend": "core.people.allauth_adapter.AccountBackend"}


def name_moved_backend(apps, schema_editor):
    store = SessionStore()
    sessions = apps.get_model("people", "Session").objects
    for session in sessions.iterator(chunk_size=1000):
        data = store.decode(session.session_data)
        if data.get(BACKEND_SESSION_KEY) in MOVED:
            data[BACKEND_SESSION_KEY] = MOVED[data[BACKEND_SESSION_KEY]]
            sessions.filter(pk=session.pk).update(session_data=store.encode(data))


class Migration(migrations.Migration):
    dependencies = [("people", "0006_deliveries_are_due")]
    operations = [migrations.RunPython(name_moved_backend, migrations.RunPython.noop)]
