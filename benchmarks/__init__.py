"""The service measured beside two others, on this machine and in one run. Begin with README.md."""
