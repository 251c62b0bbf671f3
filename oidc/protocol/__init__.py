"""What the endpoints for apps share: oauthlib's validator, CORS headers and limits."""
