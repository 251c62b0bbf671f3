"""A client's page *Events*: where it receives logout tokens and security events, and the log of deliveries."""
