"""API keys in the console."""
