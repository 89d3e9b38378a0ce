"""The command line: what it prints, how it fails, and what the demo shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import joingraph
from joingraph.cli.main import declarations, main
from joingraph.demo.demo import Demo, handle
from joingraph.demo.screen import COLUMN_ROWS, Column, Frame, fitted, line, picture, summary

ROOT = Path(__file__).parent.parent
TABLES = "CREATE TABLE a (x BIGINT); -- the other\nCREATE TABLE b (x BIGINT, y STRING);\n"


def explain(folder: Path, sql: str, tables: str = TABLES) -> int:
    (folder / "view.sql").write_text(sql, encoding="utf-8")
    (folder / "tables.sql").write_text(tables, encoding="utf-8")
    return main(["explain", str(folder / "view.sql"), str(folder / "tables.sql")])


def test_explain_prints_the_plan_of_a_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(tmp_path, "SELECT a.x, b.y FROM a JOIN b ON a.x = b.x") == 0
    printed = capsys.readouterr().out
    assert "a" in printed
    assert "b.y" in printed


@pytest.mark.parametrize(
    ("sql", "tables", "said"),
    [
        ("SELECT nothing.x FROM a", TABLES, "nothing"),
        ("SELECT a.x FROM", TABLES, "joingraph: "),
        ("SELECT a.x FROM a", "CREATE TABLE a (x", "CREATE TABLE statements"),
        ("SELECT a.x FROM a", "SELECT 1", "not a CREATE TABLE statement: SELECT 1"),
        ("SELECT a.x FROM a", TABLES + TABLES, "table a is declared twice"),
    ],
)
def test_bad_sql_is_one_message_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, tables: str, said: str
) -> None:
    assert explain(tmp_path, sql, tables) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("joingraph: ")
    assert said in complaint
    assert "Traceback" not in complaint


def test_a_missing_file_is_one_message_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nowhere.sql", "nowhere.sql"]) == 2
    said = capsys.readouterr().err
    assert said == "joingraph: cannot read nowhere.sql: No such file or directory\n"


def test_semicolons_in_strings_and_comments_do_not_end_a_statement() -> None:
    text = "CREATE TABLE a (x STRING DEFAULT ';'); /* ; */ CREATE TABLE b (y INT) -- ;\n;"
    assert declarations(text, "spark") == {
        "a": "CREATE TABLE a (x STRING DEFAULT ';')",
        "b": "CREATE TABLE b (y INT)",
    }


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_the_demo_takes_a_positive_number_of_seconds(seconds: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--seconds", seconds])
    assert stopped.value.code == 2


def test_the_module_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "joingraph", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"joingraph {joingraph.__version__}\n"


def test_the_demo_prints_lines_and_a_summary_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--no-spark", "--seconds", "1.2"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "view diffs" in printed
    assert "The view now has" in printed


def test_the_timelines_that_the_demo_shows_are_the_rows_of_the_view() -> None:
    demo = Demo()
    for _ in zip(range(5), demo.frames(60), strict=False):
        demo.follow_a_whim()
    rows = demo.graph.scan().read_all().to_pylist()
    assert demo.timelines.view_rows == len(rows)
    for follower, timeline in demo.timelines.of.items():
        own = [row for row in rows if row["followerId"] == follower]
        assert timeline.rows == len(own)
        assert set(timeline.latest) <= {
            (row["author"], row["tweetId"], row["retweeter"]) for row in own
        }


def test_people_have_different_names() -> None:
    assert len({handle(user) for user in range(5_000)}) == 5_000


COLUMN = Column("@ann1: 12 rows", ("@bob2 #7 ↻ @cleo3",), "unfollowed @bob2: -5")
FRAME = Frame(7.5, 15.0, 1_000, 20_000, 19_000, 900, (0.0, 50.0, 100.0), (COLUMN,) * 3)


@pytest.mark.parametrize("width", [76, 100, 128])
def test_a_picture_keeps_its_shape_whatever_it_shows(width: int) -> None:
    empty = FRAME._replace(columns=(Column("", (), ""),) * 3, rates=(0.0,))
    full = FRAME._replace(columns=(COLUMN._replace(latest=("x" * 500,) * COLUMN_ROWS),) * 3)
    assert len(picture(empty, width)) == len(picture(FRAME, width)) == len(picture(full, width))


def test_a_text_is_cut_or_filled_to_its_room() -> None:
    assert (fitted("abc", 5), fitted("abcdef", 5)) == ("abc  ", "abcd…")


def test_a_line_and_the_summary_say_what_was_counted() -> None:
    assert "1,000 diffs" in line(FRAME)
    said = summary(FRAME, {"bytes": 3 << 20})
    assert "20,000 view diffs" in said
    assert "3.0 MiB" in said
