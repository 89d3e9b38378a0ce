"""A seal on what is used as it is found: it was made by this user, on this machine, and is whole.

A snapshot's arrays are mapped into memory and believed (graph/compiled/memory/image.py): a forger
could make a process write where it should not. Checksums keep accidents out, not
people; so these are keyed, with a key that never leaves the user's own cache folder:

    key     32 random bytes in <cache>/joingraph/key, mode 0600, made when it is first needed
    nonce   16 random bytes, in the snapshot
    seed    of the arrays' checksums, from both; the checksums themselves are not kept
    mark    of where the arrays are and of their checksums, in the snapshot too

Where the key is another one, or none can be kept, arrays are neither written nor read.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import stat
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from joingraph.common.cache_folder import cache_folder

KEY_BYTES = 32
NONCE_BYTES = 16


class Seal(NamedTuple):
    """What a snapshot's arrays are sealed with."""

    key: bytes
    nonce: bytes

    @property
    def seed(self) -> int:
        """Start of every checksum: who does not know it cannot make one."""
        return int.from_bytes(blake2b(self.nonce, key=self.key, digest_size=8).digest(), "little")

    @property
    def name(self) -> str:
        """Tell keys apart."""
        return blake2b(b"name", key=self.key, digest_size=8).hexdigest()

    def mark(self, text: bytes) -> str:
        """Sign a text."""
        return blake2b(self.nonce + text, key=self.key, digest_size=32).hexdigest()

    def holds(self, text: bytes, mark: str) -> bool:
        """True if a text was signed so."""
        return hmac.compare_digest(self.mark(text).encode(), mark.encode())


def new_seal() -> Seal | None:
    """Make a seal for a new snapshot; None where no key can be kept."""
    key = find_key()
    return None if key is None else Seal(key, secrets.token_bytes(NONCE_BYTES))


def find_key() -> bytes | None:
    """Return this user's key, made if there is none; None if there can be none."""
    try:
        path = cache_folder() / "key"
        if not path.exists():
            make_key(path)
        found = path.lstat()
        is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
        if not is_ours or found.st_mode & 0o077:
            return None
        if found.st_size != KEY_BYTES:  # cut short: what it sealed cannot be told any more
            path.unlink()
            make_key(path)
        key = path.read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return key if len(key) == KEY_BYTES else None


def make_key(path: Path) -> None:
    """Put a key in its place, unless another process is first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"key.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink()
