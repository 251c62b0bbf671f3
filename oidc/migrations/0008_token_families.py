"""The model `Family` is called `TokenFamily`; its table stays."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("oidc", "0007_former_members")]

    operations = [
        # Naming the table that it has already: no statement, and neither is the rename, since the table's name stays.
        migrations.AlterModelTable(name="family", table="oidc_family"),
        migrations.RenameModel(old_name="Family", new_name="TokenFamily"),
        migrations.AlterModelOptions(name="tokenfamily", options={"verbose_name_plural": "token families"}),
    ]
