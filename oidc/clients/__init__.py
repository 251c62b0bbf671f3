"""Clients (apps): registration, look-up, authentication and branding."""
