from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0003_imports_of_items"),
    ]

    operations = [
        migrations.AlterField(
            model_name="importjob",
            name="kind",
            field=models.CharField(
                choices=[
                    ("images", "Images"),
                    ("captions", "Captions by a model"),
                    ("items", "Sentences with a gap"),
                    ("refs", "Reference captions"),
                ],
                max_length=8,
            ),
        ),
    ]
