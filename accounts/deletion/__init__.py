"""Account deletion: closing an account, keeping it after all, and deleting it (docs/accounts.md)."""
