from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpora", "0003_delete_corpora")]

    operations = [
        migrations.AddField("selection", "finished_at", models.DateTimeField(blank=True, null=True)),
    ]
