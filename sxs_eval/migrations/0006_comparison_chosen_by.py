from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sxs_eval", "0005_comparison_looks"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="chosen_by",
            field=models.CharField(
                blank=True,
                default="",
                help_text="The metric by whose scores a plan proposed it, * for one without a name; empty if none did.",
                max_length=200,
            ),
        ),
    ]
