from django.db import migrations, models
from django.db.models import Q

KINDS = [
    ("imported", "From a file"),
    ("collected", "Written in this project"),
    ("translated", "Translated from English"),
    ("mixed", "Written by people and translated from English"),
    ("none", "None: images without captions"),
]


class Migration(migrations.Migration):
    dependencies = [("scoring", "0004_keep_notes_on_scores")]

    operations = [
        migrations.RemoveConstraint(model_name="referenceset", name="reference_set_kind_known"),
        migrations.AlterField(
            model_name="referenceset", name="kind", field=models.CharField(choices=KINDS, max_length=10)
        ),
        migrations.AddConstraint(
            model_name="referenceset",
            constraint=models.CheckConstraint(
                condition=Q(kind__in=[kind for kind, _label in KINDS]), name="reference_set_kind_known"
            ),
        ),
    ]
