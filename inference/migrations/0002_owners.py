import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inference", "0001_initial"),
        ("people", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="captioningmodel",
            name="is_shared",
            field=models.BooleanField(
                default=False,
                help_text="Managers and researchers of every project may use it.",
                verbose_name="shared with all",
            ),
        ),
        migrations.AddField(
            model_name="captioningmodel",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="people.project",
            ),
        ),
        migrations.AddField(
            model_name="encoder",
            name="is_shared",
            field=models.BooleanField(
                default=False,
                help_text="Managers and researchers of every project may use it.",
                verbose_name="shared with all",
            ),
        ),
        migrations.AddField(
            model_name="encoder",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="people.project",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="is_shared",
            field=models.BooleanField(
                default=False,
                help_text="Managers and researchers of every project may use it.",
                verbose_name="shared with all",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="people.project",
            ),
        ),
        migrations.AddField(
            model_name="translator",
            name="is_shared",
            field=models.BooleanField(
                default=False,
                help_text="Managers and researchers of every project may use it.",
                verbose_name="shared with all",
            ),
        ),
        migrations.AddField(
            model_name="translator",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="people.project",
            ),
        ),
        migrations.AlterField(
            model_name="captioningmodel",
            name="name",
            field=models.CharField(max_length=120),
        ),
        migrations.AlterField(
            model_name="encoder",
            name="name",
            field=models.CharField(max_length=120),
        ),
        migrations.AlterField(
            model_name="translator",
            name="name",
            field=models.CharField(max_length=120),
        ),
        migrations.AddConstraint(
            model_name="captioningmodel",
            constraint=models.UniqueConstraint(
                fields=("project", "name"), name="captioning_model_named_once_per_project"
            ),
        ),
        migrations.AddConstraint(
            model_name="captioningmodel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shared", True)),
                fields=("name",),
                name="captioning_model_named_once_among_shared",
            ),
        ),
        migrations.AddConstraint(
            model_name="captioningmodel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shared", False), ("project", None)),
                fields=("created_by", "name"),
                name="captioning_model_named_once_per_maker",
            ),
        ),
        migrations.AddConstraint(
            model_name="encoder",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="encoder_named_once_per_project"),
        ),
        migrations.AddConstraint(
            model_name="encoder",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shared", True)), fields=("name",), name="encoder_named_once_among_shared"
            ),
        ),
        migrations.AddConstraint(
            model_name="encoder",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shared", False), ("project", None)),
                fields=("created_by", "name"),
                name="encoder_named_once_per_maker",
            ),
        ),
        migrations.AddConstraint(
            model_name="translator",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="translator_named_once_per_project"),
        ),
        migrations.AddConstraint(
            model_name="translator",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shared", True)), fields=("name",), name="translator_named_once_among_shared"
            ),
        ),
        migrations.AddConstraint(
            model_name="translator",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shared", False), ("project", None)),
                fields=("created_by", "name"),
                name="translator_named_once_per_maker",
            ),
        ),
    ]
