from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0002_relations_and_rules"),
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
                ],
                max_length=8,
            ),
        ),
    ]
