"""The company's own APIs: what is declared, and the credentials that they introspect with."""
