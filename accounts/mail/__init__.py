"""Mail to people: the outbox, its delivery, and the limits per recipient."""
