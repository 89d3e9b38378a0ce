"""Random views and feeds of the oracle, through files and Spark: the view is what DuckDB says.

`python -m tests.spark.cases --cases 500` judges more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark.cases import AGREES, NO_ANSWER, judge

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seed", range(10))
def test_a_random_case_gives_the_view_of_duckdb(spark: Any, tmp_path: Path, seed: int) -> None:
    verdict = judge(spark, seed, tmp_path, "reference")
    if verdict == NO_ANSWER:
        pytest.skip(f"{NO_ANSWER} to this case")
    assert verdict == AGREES
