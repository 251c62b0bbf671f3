"""Mail to people: the outbox, its delivery, and how much one address gets."""
