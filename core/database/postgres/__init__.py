"""Django's PostgreSQL backend with waits that end: the ENGINE of DATABASES (docs/operations.md#time-outs)."""
