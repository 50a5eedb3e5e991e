from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gapgame", "0004_import_of_an_item"),
    ]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="fetched_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
