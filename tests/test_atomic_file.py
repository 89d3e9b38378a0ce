"""A file that is replaced has the old content or the new one, whichever step fails."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from joingraph.common import atomic_file
from tests.faults import Faults

STEPS_MAX = 20


@pytest.mark.parametrize("write", [atomic_file.write, atomic_file.write_shared])
def test_a_file_is_replaced_whole_whichever_step_fails(
    write: Callable[[Path, bytes], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "told"
    for step in range(1, STEPS_MAX):
        path.write_bytes(b"before")
        with monkeypatch.context() as patch, contextlib.suppress(OSError):
            faults = Faults(patch, step, "EIO", lasts=False)
            write(path, b"after")
        assert path.read_bytes() in ((b"before", b"after") if faults.failed else (b"after",))
        assert list(tmp_path.iterdir()) == [path]
        if not faults.failed:
            return
    raise AssertionError("replacing a file takes more steps than were tried")


def test_an_exception_while_a_file_is_written_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "told"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt), atomic_file.replacing(path) as new:
        new.write_bytes(b"aft")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    atomic_file.write(tmp_path / "secret", b"key", mode=0o600)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
