from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0013_second_readings"),
    ]

    operations = [
        migrations.AlterModelTable(name="gloss", table="annotation_gloss"),
        migrations.RenameModel(old_name="Gloss", new_name="CaptionGloss"),
    ]
