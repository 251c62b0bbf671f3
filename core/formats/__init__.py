"""Date and time formats (setting FORMAT_MODULE_PATH)."""
