"""The request log and the sign-in log: their filters and lines."""
