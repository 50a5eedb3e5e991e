import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("images", "0004_counts_of_an_import"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImageName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=500)),
                (
                    "entry",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="names", to="images.collectionimage"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [models.Index(fields=["name"], name="image_name_by_name")],
                "constraints": [models.UniqueConstraint(fields=("entry", "name"), name="image_name_once")],
            },
        ),
    ]
