from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0004_imports_of_references"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="collectionimage",
            index=models.Index(fields=["collection", "position"], name="collection_image_in_order"),
        ),
    ]
