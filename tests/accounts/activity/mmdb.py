"""Write a small database of places in MaxMind's format (https://maxmind.github.io/MaxMind-DB/)."""

import ipaddress
from pathlib import Path
from typing import Any

_SEPARATOR = bytes(16)
_MARKER = b"\xab\xcd\xefMaxMind.com"
_UTF8, _UINT16, _UINT32, _MAP, _UINT64, _ARRAY = 2, 5, 6, 7, 9, 11
_BITS = 128


def _control(kind: int, size: int) -> bytes:
    assert size < 29
    return bytes([kind << 5 | size]) if kind < 8 else bytes([size, kind - 7])


def _number(kind: int, value: int) -> bytes:
    raw = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return _control(kind, len(raw)) + raw


def _encode(value: Any) -> bytes:
    if isinstance(value, str):
        raw = value.encode()
        return _control(_UTF8, len(raw)) + raw
    if isinstance(value, dict):
        return _control(_MAP, len(value)) + b"".join(_encode(key) + _encode(each) for key, each in value.items())
    if isinstance(value, list):
        return _control(_ARRAY, len(value)) + b"".join(map(_encode, value))
    kind, number = value
    return _number(kind, number)


def write(path: Path, places: dict[str, dict[str, Any]]) -> Path:
    """Write a database with these data for each network (IPv4 or IPv6), and return its path."""
    tree: list[list[Any]] = [[None, None]]
    data = b""
    for text, said in places.items():
        network = ipaddress.ip_network(text)
        prefix = network.prefixlen + (96 if network.version == 4 else 0)
        node = 0
        for depth in range(prefix - 1):
            bit = int(network.network_address) >> (_BITS - 1 - depth) & 1
            if tree[node][bit] is None:
                tree[node][bit] = len(tree)
                tree.append([None, None])
            node = tree[node][bit]
        tree[node][int(network.network_address) >> (_BITS - prefix) & 1] = ("data", len(data))
        data += _encode(said)
    count = len(tree)

    def record(entry: Any) -> bytes:
        value = count if entry is None else entry if isinstance(entry, int) else count + 16 + entry[1]
        return int(value).to_bytes(3, "big")

    nodes = b"".join(record(left) + record(right) for left, right in tree)
    metadata = {
        "binary_format_major_version": (_UINT16, 2),
        "binary_format_minor_version": (_UINT16, 0),
        "build_epoch": (_UINT64, 1_700_000_000),
        "database_type": "Test-City",
        "description": {"en": "for tests"},
        "ip_version": (_UINT16, 6),
        "languages": ["en"],
        "node_count": (_UINT32, count),
        "record_size": (_UINT16, 24),
    }
    path.write_bytes(nodes + _SEPARATOR + data + _MARKER + _encode(metadata))
    return path
