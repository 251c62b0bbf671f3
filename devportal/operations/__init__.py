"""How the service is doing: the operator's overview, metrics of what the database holds, and Celery's signals."""
