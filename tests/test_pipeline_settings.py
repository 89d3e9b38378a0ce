"""pipeline.toml: the example is right, and every mistake is told with its line and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from joingraph.cli.main import main
from joingraph.pipeline.model import Progress
from joingraph.pipeline.report.status import Status
from joingraph.pipeline.settings import read_settings


@pytest.fixture
def example(tmp_path: Path) -> Path:
    assert main(["init", str(tmp_path)]) == 0
    return tmp_path / "pipeline.toml"


def test_the_example_is_right(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(example)]) == 0
    assert "pipeline.toml is right" in capsys.readouterr().out
    settings = read_settings(example)
    assert settings.sources["tweet"].operation == "op"
    assert settings.sources["tweet"].path == str(example.parent / "data/tweet")


def test_init_overwrites_nothing(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(example.parent)]) == 2
    assert "pipeline.toml is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('trigger = "avail', 'triger = "avail', 'no field "triger"; did you mean "trigger"?'),
        ('"available_now"', '"soon"', 'trigger is "available_now", or an interval'),
        ('on_error = "dead_letter"', "on_error = 3", "on_error is a text, found 3"),
        ('name = "timeline"', 'name = "a/b"', "name has up to 60 letters"),
        ("[sources.tweet]\nformat", "[sources.twet]\nformat", 'did you mean "tweet"?'),
        ('format = "csv"', 'format = "xml"', "format is one of parquet, csv"),
        ('path = "data/tweet"', 'path = "data/none"', "is no folder; make it first"),
        ('operation = "op"', 'operatoin = "op"', 'did you mean "operation"?'),
        ('path = "data/follower"', 'before = "key"', "declares no key"),
        ('format = "csv"', 'format = ["csv"]', "format is a text, found ['csv']"),
        ('kind = "console"', 'kind = "consol"', "kind is one of console"),
        ('kind = "console"', "kind = [1]", "kind is one of console"),
        ('path = "out"', 'plath = "out"', 'did you mean "path"?'),
        ('["timeline.sql"]', '["nowhere.sql"]', "nowhere.sql: No such file"),
        ('views = ["timeline.sql"]', "", "says no views"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    example: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    text = example.read_text()
    assert old in text
    changed = text.replace(old, new, 1)
    example.write_text(changed)
    assert main(["check", str(example)]) == 2
    complaints = capsys.readouterr().err.splitlines()
    (told,) = [each for each in complaints if said in each]
    line = int(told.removeprefix(f"{example}:").partition(":")[0])
    if new:
        assert new.split("\n")[0] in changed.splitlines()[line - 1]


def test_a_mistake_in_sql_is_told_with_its_own_file_and_line(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view, tables = example.with_name("timeline.sql"), example.with_name("tables.sql")
    text = view.read_text()
    view.write_text(text.replace("ON F.userId", "ON F.user_id"))
    assert main(["check", str(example)]) == 2
    line = 1 + text[: text.index("ON F.userId")].count("\n")
    assert f"{view}:{line}: line {line}, column" in capsys.readouterr().err
    view.write_text(text)
    tables.write_text(tables.read_text().replace("BIGINT", "MAP<INT, INT>", 1))
    assert main(["check", str(example)]) == 2
    assert f'{tables}:1: table "follower": ' in capsys.readouterr().err
    tables.write_text("-- none yet")
    assert main(["check", str(example)]) == 2
    assert f"{tables}:1: declares no table" in capsys.readouterr().err


def test_settings_of_spark_are_read_as_spark_names_them(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = example.read_text()
    example.write_text(f'{text}\n[spark]\nui.enabled = true\n"sql.x" = 2\n')
    assert read_settings(example).spark == {"spark.ui.enabled": "true", "spark.sql.x": "2"}
    example.write_text(f"{text}\n[spark]\njars = [1]\n")
    assert main(["check", str(example)]) == 2
    assert "spark.jars is a text, a number, true or false, found [1]" in capsys.readouterr().err


def test_a_folder_is_no_file_of_settings(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(example.parent)]) == 2
    assert f"is a folder; name the file in it: {example}" in capsys.readouterr().err


def test_all_mistakes_are_told_at_once(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = example.read_text().replace('"csv"', '"xml"').replace('"console"', '"consol"')
    example.write_text(text)
    assert main(["check", str(example)]) == 2
    assert capsys.readouterr().err.count("pipeline.toml:") == 2


def test_a_timeline_of_a_column_that_is_not_there_is_told(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = '\n[[sinks]]\nkind = "timeline"\nprefix = "x"\nsubscriber = "follower"\nscore = "y"\n'
    example.write_text(example.read_text() + sink)
    assert main(["check", str(example)]) == 2
    assert (
        'timeline has no column "follower"; did you mean "followerId"?' in capsys.readouterr().err
    )


@pytest.mark.parametrize("text", ["name = ", "a = 1\na = 2", "\x00"])
def test_what_is_no_toml_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "p.toml").write_text(text)
    assert main(["check", str(tmp_path / "p.toml")]) == 2
    assert "p.toml:" in capsys.readouterr().err


def test_status_tells_what_the_last_run_did(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(example)]) == 2
    assert "has never run" in capsys.readouterr().err
    status = Status(example.parent / "state" / "status.json")
    status.started("timeline")
    status.advanced(Progress(0, 1000, 50, 1, 0.02, 0.01, {"tweet": 1000}, {}), 0.1)
    status.failed("disk full")
    assert main(["status", str(example)]) == 0
    said = capsys.readouterr().out
    for part in ("failed", "diffs in: 1,000", "dead letters: 1", "10,000 diffs/s", "disk full"):
        assert part in said


def test_doctor_says_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    assert "pyspark" in capsys.readouterr().out
