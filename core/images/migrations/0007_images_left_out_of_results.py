from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("images", "0006_count_captions_with_hidden_characters"),
    ]

    operations = [
        migrations.AddField(
            model_name="collectionimage",
            name="excluded_at",
            field=models.DateTimeField(
                blank=True, help_text="Since when it is left out of results; empty while it counts.", null=True
            ),
        ),
        migrations.AddField(
            model_name="collectionimage",
            name="exclusion_reason",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
        migrations.AddIndex(
            model_name="collectionimage",
            index=models.Index(
                condition=models.Q(("excluded_at__isnull", False)),
                fields=["collection", "image"],
                name="collection_image_left_out",
            ),
        ),
    ]
