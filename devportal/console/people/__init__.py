"""The people of a project's apps, and their limit."""
