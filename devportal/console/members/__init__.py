"""Members and invitations in the console."""
