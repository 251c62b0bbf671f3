"""The authorization endpoint: requests, checks, outcomes, interactions and consent."""
