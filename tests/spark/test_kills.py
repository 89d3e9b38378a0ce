"""A pipeline killed at random moments: what its sink holds in the end is the view, each batch once.

`python -m tests.spark.kills --kills 50` kills more often.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import first
from tests.spark.conftest import GROUPS, SQL
from tests.spark.kills import kill_often

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("sql", first(1, [SQL, GROUPS]))
def test_what_is_left_after_kills_is_the_view_and_no_batch_is_lost_or_twice(
    tmp_path: Path, sql: str
) -> None:
    kill_often(tmp_path, 2, seed=5, engine="reference", sql=sql)
