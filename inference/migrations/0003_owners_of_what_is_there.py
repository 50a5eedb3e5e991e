"""Everything that is there stays shared with all, and gets the project that alone uses it as its owner."""

from collections import defaultdict

from django.db import migrations

PLACES = {
    "images.Collection": [
        ("annotation.Round", "collection"),
        ("sxs_eval.Comparison", "collection"),
        ("gapgame.ItemSet", "collection"),
        ("scoring.ReferenceSet", "collection"),
    ],
    "inference.CaptioningModel": [
        ("annotation.Round", "captioners"),
        ("sxs_eval.Comparison", "base"),
        ("sxs_eval.Comparison", "test"),
        ("scoring.Scoring", "model"),
    ],
    "inference.Encoder": [("scoring.Scoring", "encoder"), ("scoring.Scoring", "english_encoder")],
    "inference.Translator": [],
    "inference.Run": [],
}
AT_ONCE = 500


def find_owners(apps, schema_editor):
    managed, researched = defaultdict(set), defaultdict(set)
    for user, project, role in apps.get_model("people", "Membership").objects.values_list("user", "project", "role"):
        if role == "manager":
            managed[user].add(project)
        if role in ("manager", "researcher"):
            researched[user].add(project)
    for label, uses in PLACES.items():
        users = defaultdict(set)
        for using, field in uses:
            pairs = apps.get_model(using).objects.exclude(**{field: None}).values_list(field, "project")
            for thing, project in pairs.distinct().order_by():
                users[thing].add(project)
        of_maker = researched if label == "inference.Run" else managed
        kind = apps.get_model(label)
        kind.objects.update(is_shared=True)
        owned = defaultdict(list)
        for thing, maker in kind.objects.values_list("pk", "created_by"):
            candidates = users[thing] or of_maker[maker]
            if len(candidates) == 1:
                owned[next(iter(candidates))].append(thing)
        give(kind, owned)
    # A variant belongs to whom the model does that it is one of.
    models = apps.get_model("inference", "CaptioningModel").objects
    for pk, project in models.filter(variants__isnull=False).distinct().values_list("pk", "project"):
        models.filter(variant_of=pk).update(project=project)
    find_owners_of_reports(apps, managed)


def find_owners_of_reports(apps, managed):
    jobs = apps.get_model("images", "ImportJob")
    there = set(apps.get_model("people", "Project").objects.values_list("pk", flat=True))
    of_items = dict(apps.get_model("gapgame", "ItemSet").objects.values_list("collection", "project"))
    owned = defaultdict(list)
    rows = jobs.objects.values_list("pk", "kind", "collection", "collection__project", "options", "created_by")
    for pk, kind, collection, owner, options, maker in rows:
        if kind == "refs":
            project = options.get("project")
        elif kind == "items":
            project = of_items.get(collection)
        elif kind == "images":
            project = of_items.get(collection, owner)
        else:
            project = next(iter(managed[maker])) if len(managed[maker]) == 1 else None
        if project in there:
            owned[project].append(pk)
    give(jobs, owned)


def give(kind, owned):
    for project, things in owned.items():
        for start in range(0, len(things), AT_ONCE):
            kind.objects.filter(pk__in=things[start : start + AT_ONCE]).update(project=project)


class Migration(migrations.Migration):
    dependencies = [
        ("inference", "0002_owners"),
        ("annotation", "0001_initial"),
        ("gapgame", "0001_initial"),
        ("scoring", "0001_initial"),
        ("sxs_eval", "0001_initial"),
    ]

    operations = [migrations.RunPython(find_owners, migrations.RunPython.noop)]
