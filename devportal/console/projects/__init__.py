"""Projects in the console."""
