"""Events that apps receive: logout tokens and security event tokens, and their deliveries."""
