"""`python -m tests.faults.roads`: Celery, for which public IP addresses lead to ports of this machine.

The variable ROADS maps addresses to ports, as JSON. Nothing else differs: names are resolved, addresses checked, and
certificates too.
"""

import json
import os

import httpcore
from celery.__main__ import main

from core.outbound import fetching

ROADS: dict[str, int] = json.loads(os.environ["ROADS"])


def dial(address: str, port: int, seconds: float) -> httpcore.NetworkStream:
    """Connect to the port that stands for an address."""
    return httpcore.SyncBackend().connect_tcp("127.0.0.1", ROADS[address], timeout=seconds)


if __name__ == "__main__":
    fetching.dial = dial
    main()
