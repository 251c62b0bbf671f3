"""The model `SentForm` is called `IdempotencyToken`; its table stays."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("console", "0006_former_members_of_the_trail")]

    operations = [
        # Naming the table that it has already: no statement, and neither is the rename, since the table's name stays.
        migrations.AlterModelTable(name="sentform", table="console_sentform"),
        migrations.RenameModel(old_name="SentForm", new_name="IdempotencyToken"),
    ]
