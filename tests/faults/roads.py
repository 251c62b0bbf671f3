"""`python -m tests.faults.roads`: Celery, but its connections to public IP addresses go to ports of this machine.

The variable ROADS maps IP addresses to ports, as JSON. Everything else works as usual: names are resolved, and IP
addresses and certificates are checked.
"""

import json
import os

import httpcore
from celery.__main__ import main

from core.outbound import fetching

ROADS: dict[str, int] = json.loads(os.environ["ROADS"])


def dial(address: str, port: int, seconds: float) -> httpcore.NetworkStream:
    """Connect to the local port for a public IP address."""
    return httpcore.SyncBackend().connect_tcp("127.0.0.1", ROADS[address], timeout=seconds)


if __name__ == "__main__":
    fetching.dial = dial
    main()
