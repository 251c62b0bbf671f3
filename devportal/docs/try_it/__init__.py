"""The page of the docs that lets readers try the developer API."""
