import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gapgame", "0003_corpora_of_a_set"),
        ("images", "0010_imports_of_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="gapitem",
            name="import_job",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="images.importjob"
            ),
        ),
    ]
