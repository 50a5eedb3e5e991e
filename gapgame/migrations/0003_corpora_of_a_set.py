from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gapgame", "0002_corpus_sets"),
    ]

    operations = [
        migrations.AddField(
            model_name="itemset",
            name="corpora",
            field=models.JSONField(
                default=list, help_text="Of each corpus that items are from: name, fingerprint, choice, configuration."
            ),
        ),
        migrations.DeleteModel(name="CorpusItemSet"),
    ]
