"""The people of a project's apps, and the user cap."""
