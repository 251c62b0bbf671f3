"""The request log and the sign-in log."""
