"""The steps of sign-ins to apps: how they are reported and counted."""
