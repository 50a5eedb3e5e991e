from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sxs_eval", "0008_comparisons_from_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgement",
            name="is_skipped",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddConstraint(
            model_name="judgement",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_skipped", False), models.Q(("assignment", None), ("choice", None)), _connector="OR"
                ),
                name="judgement_skipped_has_no_answer",
            ),
        ),
    ]
