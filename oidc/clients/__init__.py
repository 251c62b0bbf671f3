"""Clients (apps): registering, finding and authenticating them."""
