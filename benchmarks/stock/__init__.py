"""django-oauth-toolkit as it comes: its own models, views and validator, in the smallest project that serves it."""
