"""How the person of a session authenticated, with which keys, and the sessions and accounts of a browser."""
