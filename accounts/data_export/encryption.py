"""Encrypted files: encrypted and authenticated in pieces, so that no whole file has to be in memory.

Each line is one piece, encrypted by core/database/encryption.py together with its owner, its number, and whether it is
the last one: no piece can be left out, moved, or taken from another file.
"""

import struct
from collections.abc import Iterator
from typing import IO

from core.database import encryption

PIECE = 64 * 1024  # bytes of the plain file
_HEAD = struct.Struct(">QQ?")  # owner, number, is it the last one
LONGEST_LINE = 4 * (_HEAD.size + PIECE) // 3 + 200


def encrypt_file(plain: IO[bytes], encrypted: IO[bytes], owner: int) -> None:
    """Encrypt the file `plain` into `encrypted`; `owner` is the primary key of the row that the file belongs to."""
    number, piece = 0, plain.read(PIECE)
    while True:
        following = plain.read(PIECE)
        encrypted.write(encryption.encrypt_bytes(_HEAD.pack(owner, number, not following) + piece) + b"\n")
        if not following:
            return
        number, piece = number + 1, following


def decrypt_file(encrypted: IO[bytes], owner: int) -> Iterator[bytes]:
    """Yield the plain file in pieces. Raises encryption.Unreadable if it was changed or has another owner."""
    number, is_last = 0, False
    while line := encrypted.readline(LONGEST_LINE):
        opened = encryption.decrypt_bytes(line.strip())
        found, position, is_last = _HEAD.unpack_from(opened)
        if (found, position) != (owner, number):
            raise encryption.Unreadable
        yield opened[_HEAD.size :]
        number += 1
    if not is_last:
        raise encryption.Unreadable
