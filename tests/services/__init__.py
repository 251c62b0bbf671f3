"""The servers and programs that some tests need: found or started here, and stopped with the tests."""
