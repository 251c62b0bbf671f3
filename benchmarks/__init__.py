"""Benchmarks that compare the service with two others, on this machine and in one run. Start with README.md."""
