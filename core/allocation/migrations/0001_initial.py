import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("people", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Pool",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "replication",
                    models.PositiveSmallIntegerField(default=2, help_text="How many different people do each task."),
                ),
                ("batch_size", models.PositiveSmallIntegerField(default=15)),
                ("lease_s", models.PositiveIntegerField(default=86400, help_text="Length of a lease, in seconds.")),
                ("is_open", models.BooleanField(default=True, help_text="Whether new batches are assigned.")),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("replication__gte", 1)), name="pool_replication_positive"
                    ),
                    models.CheckConstraint(condition=models.Q(("batch_size__gte", 1)), name="pool_batch_not_empty"),
                    models.CheckConstraint(condition=models.Q(("lease_s__gte", 1)), name="pool_hold_positive"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tasks", to="allocation.pool"
                    ),
                ),
                ("shuffle_key", models.PositiveIntegerField(help_text="Random order in which tasks are assigned.")),
                ("places", models.PositiveSmallIntegerField()),
                ("places_taken", models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("places_taken__lt", models.F("places"))),
                        fields=["pool", "shuffle_key"],
                        name="task_open_in_order",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("places_taken__lte", models.F("places"))), name="task_not_oversold"
                    ),
                    models.CheckConstraint(condition=models.Q(("places__gte", 1)), name="task_has_a_place"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Batch",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to="allocation.pool"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("done", "Submitted"),
                            ("returned", "Returned"),
                            ("expired", "Expired"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("taken_at", models.DateTimeField()),
                ("lease_s", models.PositiveIntegerField(help_text="Seconds of a full lease, copied from the pool.")),
                ("deadline", models.DateTimeField(help_text="When the lease ends.")),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "open")), fields=["deadline"], name="batch_open_by_due"),
                    models.Index(
                        condition=models.Q(("state", "expired")), fields=["pool", "person"], name="batch_expired"
                    ),
                    models.Index(fields=["person", "-taken_at"], name="batch_of_person"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("pool", "person"),
                        name="batch_one_open_per_person_and_pool",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "done", "returned", "expired"])),
                        name="batch_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="allocation.task"
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="allocation.batch"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(help_text="From 1, in the order shown.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("assigned", "Assigned"),
                            ("done", "Done"),
                            ("returned", "Returned"),
                            ("expired", "Expired"),
                            ("late", "Late, not counted"),
                            ("reassigned", "Reassigned"),
                            ("rejected", "Excluded by a manager"),
                        ],
                        default="assigned",
                        max_length=10,
                    ),
                ),
            ],
            options={
                "ordering": ["batch", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("task", "person"), name="assignment_once_per_person"),
                    models.UniqueConstraint(fields=("batch", "position"), name="assignment_one_per_position"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["assigned", "done", "returned", "expired", "late", "reassigned", "rejected"])
                        ),
                        name="assignment_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
