"""Unmodified django-oauth-toolkit, with its own models, views and validator, in a minimal Django project."""
