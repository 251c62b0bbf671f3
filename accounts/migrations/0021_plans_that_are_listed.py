from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0020_names_of_features"),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="is_listed",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="among what else there is, on people's plan page",
                verbose_name="shown to everybody",
            ),
        ),
    ]
