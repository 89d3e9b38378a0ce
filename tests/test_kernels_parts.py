"""The parts of the compiled form: its text, its cache, its tables, its strings, its words."""

from __future__ import annotations

import ast
import keyword
import os
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from joingraph.common.cache_folder import own_folder
from joingraph.common.errors import LimitError
from joingraph.engines.codegen.compile import compile_text, written
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled import fields
from joingraph.graph.compiled.machine.kernel import kernel, ld, mix, mix_twin
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words, to_words
from joingraph.graph.compiled.vertex_table import drop, find, put
from joingraph.plan.view import View
from joingraph.tables.batch import read_batch
from tests.kernel_twins import Feed, Twins
from tests.shapes import SHAPES

pytestmark = pytest.mark.kernels

HOSTILE = (
    "quote \" and ' and `",
    "new\nline",
    "__import__('os').abort()",
    '"""',
    "\\",
    "{st}",
    "x" * 10_000,
    "\u0440\u0430\u0443\u0440\u0430l",  # Cyrillic letters that look like Latin ones
    "a\0b",
)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_name_or_constant_reaches_a_kernel(name: str) -> None:
    """Kernels of hostile identifiers are letter for letter those of harmless ones."""
    harmless = kernels_of("t", "a", "nothing special")
    assert kernels_of(name, "a", "nothing special") == harmless
    assert kernels_of("t", name, "nothing special") == harmless
    assert kernels_of("t", "a", name) == harmless


def kernels_of(table: str, column: str, constant: str) -> list[str]:
    """Write the kernels of a view over a table and column of these names, and a constant."""
    quoted_table, quoted_column = ('"' + each.replace('"', '""') + '"' for each in (table, column))
    text = "'" + constant.replace("'", "''") + "'"
    sql = (
        f"SELECT x.{quoted_column}, y.b FROM {quoted_table} x JOIN {quoted_table} y"
        f" ON x.{quoted_column} = y.{quoted_column} WHERE x.b = {text}"
    )
    schema = pa.schema([(column, pa.int64()), ("b", pa.string())])
    return list(CompiledEngine(View(sql, {table: schema}, "duckdb").plan, "exact").plugs.texts())


def test_kernels_are_made_of_integers_and_our_own_names() -> None:
    """A kernel's text parses, holds no string but its docstring, and only names we chose."""
    for shape in ("node of three links and a column", "counts on a chain"):
        for text in Twins(SHAPES[shape], "local").compiled.plugs.texts():
            tree = ast.parse(text)
            strings = [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
            assert strings == [ast.get_docstring(tree, clean=False)]
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)


def test_a_cache_folder_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a folder of ours with mode 0700 may hold code that will be run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = own_folder("kernels")
    assert folder is not None and folder.is_relative_to(tmp_path)
    os.chmod(folder, 0o770)
    assert own_folder("kernels") is None


def test_a_tampered_module_is_written_anew(tmp_path: Path) -> None:
    """What is run is the text that was generated, whatever lies in the cache."""
    path = tmp_path / "module.py"
    path.write_text("raise SystemExit('tampered')")
    assert written(path, "harmless = 1\n").read_text() == "harmless = 1\n"


def test_a_kernel_is_compiled_once_for_equal_texts() -> None:
    """Two engines of the same view share machine code."""
    texts = [Twins(SHAPES["leaf and leaf"], "exact").compiled.plugs.texts() for _ in range(2)]
    assert texts[0] == texts[1]
    assert list(map(compile_text, texts[0])) == list(map(compile_text, texts[1]))


@kernel
def mixed(key: int) -> int:
    """Mix in machine code."""
    return mix(key)


def test_mix_is_the_same_in_machine_code_and_in_python() -> None:
    """Interpreted and compiled kernels build the same tables."""
    random = Random(3)
    keys = [0, -1, 1, 2**63 - 1, -(2**63), *(random.randrange(-(2**63), 2**63) for _ in range(100))]
    assert [mixed(key) for key in keys] == [mix_twin(key) for key in keys]


def test_a_table_of_vertex_values_behaves_like_a_dictionary() -> None:
    """Values come and go at random, over several growths of the index."""
    memory = empty_memory("key of two words")
    vd, random = memory.vertex(0), Random(4)
    known: dict[tuple[int, int], int] = {}
    for _ in range(6000):
        key = (random.randrange(60), random.randrange(60))
        words = np.array(key, np.int64)
        with lent(words):
            if key in known and random.random() < 0.4:
                drop(vd.ctypes.data, known.pop(key))
            elif key in known:
                assert find(vd.ctypes.data, words.ctypes.data) == known[key]
            else:
                assert find(vd.ctypes.data, words.ctypes.data) == 0
                known[key] = put(vd.ctypes.data, words.ctypes.data)
    assert int(vd[fields.V_LIVE]) == len(known) == len(set(known.values()))
    assert all((ld_at(record, 0), ld_at(record, 1)) == key for key, record in known.items())


def empty_memory(shape: str) -> GraphMemory:
    """Make the memory of an empty graph, with room for the ops of a test."""
    memory = Twins(SHAPES[shape], "exact", own_kernels=False).compiled.memory
    memory.make_room(10_000)
    return memory


@kernel
def ld_at(base: int, index: int) -> int:
    """Read a word in machine code."""
    return ld(base, index)


STRINGS = ["", "a", "eight by", "eight byt", None, "a" * 100, "é", "a", "x\0y", "x\0"]


@pytest.mark.parametrize("kind", (pa.string(), pa.binary()), ids=str)
def test_strings_come_back_as_they_went_in(kind: pa.DataType) -> None:
    """Equal strings have one id, NULL has none, slices are read from their offset."""
    interner = Interner()
    values = [each if kind == pa.string() or each is None else each.encode() for each in STRINGS]
    ids = interner.words(pa.array([*values, *values], kind).slice(1, 12))
    assert interner.array(ids, kind).to_pylist() == [*values, *values][1:13]
    assert len(set(ids.tolist())) == len(set(STRINGS))


def test_many_strings_are_told_apart() -> None:
    """The index grows; ids stay."""
    interner = Interner()
    column = pa.array([f"value {n % 5000}" for n in range(20_000)])
    ids = interner.words(column)
    assert interner.array(ids, pa.string()) == column
    assert (interner.words(column) == ids).all()


COLUMNS = (
    pa.array([True, None, False]),
    pa.array([-128, None, 127], pa.int8()),
    pa.array([-(2**63), None, 2**63 - 1]),
    pa.array([2**64 - 1, None, 0], pa.uint64()),
    pa.array([1.5, None, -0.0], pa.float32()),
    pa.array([1.5, None, -0.0, float("inf")]),
    pa.array([1, None, -1], pa.decimal128(18, 2)),
    pa.array([10**30, None, -(10**35)], pa.decimal128(38, 0)),
    pa.array([0, None, 20_000], pa.date32()),
    pa.array([0, None, -1], pa.timestamp("us")),
    pa.array([], pa.int64()),
)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_words_come_back_as_they_went_in(column: pa.Array) -> None:
    """Every type, with NULLs, from the start and from an offset."""
    interner = Interner()
    for part in (column, column.slice(1)):
        words: list[Words] = to_words(part, interner)
        assert from_words(words, part.type, interner).to_pylist() == part.to_pylist()


def test_the_one_number_that_stands_for_null_is_refused_where_it_cannot_be_kept() -> None:
    """A projected BIGINT of that value would come out as NULL: never a wrong answer."""
    column = pa.array([fields.NULL_WORD, None])
    with pytest.raises(LimitError, match="stands for NULL"):
        to_words(column, Interner())
    assert to_words(column.slice(0, 1), Interner(), key=True)[0][0] == fields.NULL_WORD


@pytest.mark.parametrize(
    "shape",
    ["leaf and leaf", "key of two words", "chain of two edges", "node of three links and a column"],
)
def test_an_own_look_ahead_finds_the_records_that_the_plain_one_finds(shape: str) -> None:
    """After the same removals the rings of records found ahead are the same."""
    rings = []
    for own_kernels in (True, False):
        twins = Twins(SHAPES[shape], "exact", own_kernels=own_kernels)
        feed = Feed(7, 9, twins.view.tables)
        twins.load(feed.inserts(80))
        changes = [feed.entry() for _ in range(80)]
        removals = [entry for entry in changes if entry[0] != "insert"]
        twins.apply(read_batch(removals, twins.view.tables))
        rings.append(found_ahead(twins.compiled.memory))
    assert rings[0] == rings[1]
    assert len(set(rings[0])) > 4


def found_ahead(memory: GraphMemory) -> list[tuple[int, int] | None]:
    """Read the ring: each record's vertex, and how far in its records lie."""
    start = (int(memory.words[fields.HINTS]) - memory.st) // 8
    slots = 2 * int(memory.words[fields.MOST_LINKS]) * fields.RING_SLOTS
    return [home_of(memory, record) for record in memory.words[start : start + slots].tolist()]


def home_of(memory: GraphMemory, record: int) -> tuple[int, int] | None:
    """Say whose record lies at an address; nobody's at 0."""
    for number in range(int(memory.words[fields.VERTEX_COUNT])):
        vd = memory.vertex(number)
        inside = record - int(vd[fields.V_RECORDS])
        if 0 <= inside < int(vd[fields.V_NEXT] * vd[fields.V_STRIDE]) * 8:
            return number, inside
    assert record == 0, "a ring holds records or nothing"
    return None


def test_each_word_of_a_descriptor_has_a_name_of_its_own() -> None:
    tree = ast.parse(Path(fields.__file__).read_text())
    names = [
        name.id
        for each in tree.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    ]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
