from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_images_left_out_of_releases"),
    ]

    operations = [
        migrations.AddField(
            model_name="release",
            name="has_images",
            field=models.BooleanField(default=False, help_text="Whether images whose licences allow it are in it."),
        ),
    ]
