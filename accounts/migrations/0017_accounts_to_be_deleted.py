from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0016_data_exports"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="deletion_due_at",
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name="to be deleted on"),
        ),
    ]
