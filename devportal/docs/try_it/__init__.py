"""The page of the docs on which the developer API is tried."""
