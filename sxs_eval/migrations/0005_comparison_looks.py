from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sxs_eval", "0004_left_out_comparisons"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="looks",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Numbers of complete images, none twice in a row, at which its results were opened or "
                "downloaded.",
            ),
        ),
    ]
