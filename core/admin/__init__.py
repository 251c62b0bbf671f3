"""Base classes of the admin pages of all apps: lists, actions, audit, theme."""
