"""Sign-out requests of apps, and their tester."""
