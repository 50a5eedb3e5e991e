from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("images", "0005_further_names_of_images")]

    operations = [
        migrations.AddField(
            model_name="importrow",
            name="had_hidden",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="From how many captions of it invisible characters were removed."
            ),
        ),
    ]
