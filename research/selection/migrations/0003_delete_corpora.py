from django.db import migrations


class Migration(migrations.Migration):
    """Corpora are built by a command, in a folder."""

    dependencies = [
        ("corpora", "0002_corpus_builds"),
        ("gapgame", "0003_corpora_of_a_set"),
    ]

    operations = [
        migrations.DeleteModel(name="CorpusJob"),
        migrations.DeleteModel(name="CorpusStep"),
        migrations.DeleteModel(name="CorpusFile"),
        migrations.DeleteModel(name="CorpusExclusion"),
        migrations.DeleteModel(name="CorpusBuild"),
    ]
