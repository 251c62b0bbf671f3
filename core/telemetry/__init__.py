"""Monitoring: metrics and traces (docs/monitoring.md). Both are off unless they are configured."""
