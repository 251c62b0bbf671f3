"""Pages and endpoints of people's accounts."""
