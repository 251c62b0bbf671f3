"""WSGI wrapper between granian and Django: protection against slow clients (docs/architecture.md#processes)."""
