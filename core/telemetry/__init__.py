"""What operators see from outside: metrics and traces (docs/monitoring.md). Both are off unless they are configured."""
