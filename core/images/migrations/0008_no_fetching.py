from django.db import migrations, models


def keep_reports(apps, schema_editor):
    """Keep the reports of files that were fetched, as imports of images; what was not finished never will be."""
    fetches = apps.get_model("images", "ImportJob").objects.using(schema_editor.connection.alias).filter(kind="fetch")
    ended = {"state": "failed", "lease_until": None, "error": "Files are no longer fetched. Import them."}
    fetches.filter(state__in=["queued", "running"]).update(**ended)
    fetches.update(kind="images")


class Migration(migrations.Migration):
    dependencies = [("images", "0007_images_left_out_of_results")]

    operations = [
        migrations.RunPython(keep_reports, migrations.RunPython.noop, elidable=True),
        migrations.AlterField(
            model_name="importjob",
            name="kind",
            field=models.CharField(
                choices=[
                    ("images", "Images"),
                    ("captions", "Captions by a model"),
                    ("items", "Sentences with a gap"),
                    ("refs", "Reference captions"),
                    ("cands", "Candidates"),
                ],
                max_length=8,
            ),
        ),
    ]
