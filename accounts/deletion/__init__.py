"""Leaving: the export of a person's own data, and the deletion of their account (docs/accounts.md)."""
