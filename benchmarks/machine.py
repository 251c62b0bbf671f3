"""Describe the machine of a run, and the servers that all contenders use."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import psycopg
import redis


def described(database: str, store: str) -> list[str]:
    """Return lines about the machine and its software. `database` and `store` are URLs of running servers."""
    with psycopg.connect(f"{database.rpartition('/')[0]}/postgres") as connection:
        row = connection.execute("SHOW server_version").fetchone()
    client = redis.Redis.from_url(store)
    info = client.info("server")
    client.close()
    kind = "Valkey" if info.get("server_name") == "valkey" else "Redis"
    version = info.get("valkey_version", info["redis_version"])
    found = [f"PostgreSQL {row[0] if row else 'unknown'}", f"{kind} {version}"]
    if node := node_version():
        found.append(f"Node {node}")
    return [
        f"{os.cpu_count()} cores of {processor()}, {memory()}",
        f"{platform.system()} {platform.release()}, {system()}",
        ", ".join(found),
    ]


def processor() -> str:
    """Return the name of the processor that the system reports."""
    said: dict[str, str] = {}
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        said.setdefault(name.strip(), value.strip())
    if "model name" not in said:
        return platform.processor() or platform.machine()
    # Virtual machines may only report the vendor's name. The numbers identify the generation.
    return f"{said['model name']} (family {said.get('cpu family', '?')}, model {said.get('model', '?')})"


def memory() -> str:
    """Return how much memory there is."""
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return f"{int(line.split()[1]) / 2**20:.0f} GB of memory"
    return "memory unknown"


def system() -> str:
    """Return the name of the operating system's release."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform()


def node_version() -> str:
    """Return the version of Node; "" if it is not installed."""
    program = shutil.which("node")
    if program is None:
        return ""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip().lstrip("v")


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
