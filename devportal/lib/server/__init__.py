"""What stands between the HTTP server and Django in a worker of `manage.py serve`: bounds for slow callers."""
