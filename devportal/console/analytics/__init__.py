"""Analytics of sign-ins: counts by client and hour, and the pages that show them."""
