"""Projects, their members and invitations."""
