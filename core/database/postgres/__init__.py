"""Django's PostgreSQL backend with time limits on all waits: the ENGINE of DATABASES (docs/operations.md#time-outs)."""
