"""Plans, subscriptions and entitlements, and the states a subscription goes through (docs/plans.md)."""
