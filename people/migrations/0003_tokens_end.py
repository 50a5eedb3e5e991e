from datetime import timedelta

from django.db import migrations, models
from django.utils import timezone

A_YEAR = timedelta(days=365)


def end_the_endless(apps, schema_editor):
    """Those that were to last until they are revoked end in a year; what uses them can be given others meanwhile."""
    endless = apps.get_model("people", "ApiToken").objects.filter(expires_at=None)
    endless.filter(revoked_at=None).update(expires_at=timezone.now() + A_YEAR)
    endless.update(expires_at=models.F("revoked_at"))


class Migration(migrations.Migration):
    dependencies = [("people", "0002_sessions_say_where_they_are_used")]

    operations = [
        migrations.RunPython(end_the_endless, migrations.RunPython.noop),
        migrations.AlterField(model_name="apitoken", name="expires_at", field=models.DateTimeField()),
    ]
