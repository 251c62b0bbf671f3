"""Plans and entitlements: what is sold, who has what, and how that changes with time (specification 2.2 and 3)."""
