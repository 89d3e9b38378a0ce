"""Functions of text. Characters are Unicode code points; patterns are constants.

Only `position` and searches for a text from another column go row by row.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import (
    Entry,
    Maker,
    Plain,
    always,
    constant,
    of_nulls,
    of_one,
    of_two,
)
from joingraph.expressions.functions.fault import Datum, columns, length_of
from joingraph.expressions.tree import Call, Literal

PATTERN_CHARS_MAX = 1_000  # a far longer one is too long for the form by column


def concat(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """All texts one after the other; NULL where one is NULL."""
    _check_joined(args)
    return pc.binary_join_element_wise(*args, "", null_handling="emit_null")


def concat_known(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """All texts one after the other, NULLs left out."""
    _check_joined(args)
    # Not null_handling="skip": with it Arrow drops the rows in which all are NULL.
    return pc.binary_join_element_wise(*args, "", null_handling="replace", null_replacement="")


def _check_joined(args: Sequence[Datum]) -> None:
    """Refuse texts that make too long ones together."""
    length = length_of(args)
    counts = (
        each.nbytes if isinstance(each, pa.Array) else length * len(each.as_py() or "")
        for each in args
    )
    if sum(counts) > texts.ARRAY_BYTES_MAX:  # which counts offsets, too, and of NULLs the text
        some = [pc.fill_null(pc.binary_length(each), 0) for each in columns(args)]
        texts.within_array(sum(pc.sum(each).as_py() for each in some))


def length(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The number of characters of a text, of bytes of a binary."""
    is_text = pa.types.is_string(args[0].type)
    count = pc.utf8_length if is_text else pc.binary_length
    return count(args[0]).cast(type)


def upper(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Upper case, letter by letter: ß becomes ẞ (DuckDB)."""
    return pc.utf8_upper(args[0])


def lower(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Lower case, letter by letter (DuckDB)."""
    return pc.utf8_lower(args[0])


def upper_ascii(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Upper case of a to z only (SQLite)."""
    return pc.ascii_upper(args[0])


def lower_ascii(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Lower case of A to Z only (SQLite)."""
    return pc.ascii_lower(args[0])


def upper_full(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Upper case by Unicode's full mapping: ß becomes SS (Spark)."""
    return _by_mapping(args, pc.ascii_upper, str.upper)


def lower_full(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Lower case by Unicode's full mapping: a final Σ becomes ς (Spark)."""
    return _by_mapping(args, pc.ascii_lower, str.lower)


def _by_mapping(
    args: Sequence[Datum], ascii: Callable[[Datum], Datum], mapping: Callable[[str], str]
) -> Datum:
    (texts,) = columns(args)
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return ascii(texts)
    return pa.array([None if t is None else mapping(t) for t in texts.to_pylist()], pa.string())


def trim(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A text without the given characters at both ends."""
    return pc.utf8_trim(args[0], characters=args[1].as_py())


def trim_left(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A text without the given characters at its start."""
    return pc.utf8_ltrim(args[0], characters=args[1].as_py())


def trim_right(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A text without the given characters at its end."""
    return pc.utf8_rtrim(args[0], characters=args[1].as_py())


def part(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """text[start:stop], counted as Python does: from 0, from the end if negative, NULL is open."""
    start, stop = args[1].as_py(), args[2].as_py()
    if start >= 0 and stop is not None and stop >= 0:
        return pc.utf8_slice_codeunits(args[0], start, max(stop, start))
    texts = columns(args)[0].to_pylist()
    return pa.array([None if t is None else t[start:stop] for t in texts], pa.string())


def replace(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A text with every occurrence of a constant replaced by another."""
    old, new = args[1].as_py(), args[2].as_py()
    more = len(new.encode()) - len(old.encode())
    if more > 0 and args[0].nbytes * (1 + more) > texts.ARRAY_BYTES_MAX:
        found = pc.sum(pc.count_substring(args[0], old)).as_py() or 0
        texts.within_array((pc.sum(pc.binary_length(args[0])).as_py() or 0) + found * more)
    return pc.replace_substring(args[0], old, new)


def reverse(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A text backwards, code point by code point."""
    return pc.utf8_reverse(args[0])


def starts_with(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Whether a text begins with another."""
    return _search(args, pc.starts_with, str.startswith)


def ends_with(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Whether a text ends with another."""
    return _search(args, pc.ends_with, str.endswith)


def contains(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Whether a text holds another."""
    return _search(args, pc.match_substring, str.__contains__)


def _search(
    args: Sequence[Datum], kernel: Callable[..., Datum], plain: Callable[[str, str], bool]
) -> Datum:
    if isinstance(args[1], pa.Scalar) and args[1].is_valid:
        return kernel(args[0], args[1].as_py())
    return _pairwise(args, pa.bool_(), plain)


def position(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Where a text first holds another, counted from 1; 0 where it does not."""
    return _pairwise(args, type, lambda text, part: text.find(part) + 1)


def _pairwise(
    args: Sequence[Datum], type: pa.DataType, function: Callable[[str, str], bool | int]
) -> pa.Array:
    pairs = zip(*(each.to_pylist() for each in columns(args)), strict=True)
    return pa.array([None if None in pair else function(*pair) for pair in pairs], type)


def like(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Whether a text has the form of a constant pattern: % any text, _ any one character."""
    pattern, escape = args[1].as_py(), args[2].as_py()
    return pc.match_substring_regex(args[0], like_regex(pattern, escape))


def like_regex(pattern: str, escape: str) -> str:
    r"""Write a LIKE pattern as a regular expression for the whole text.

    >>> like_regex("a#_%", "#")
    '(?s)\\Aa_.*\\z'
    """
    runs = (regex_of(run) for run in like_runs(pattern, escape))
    return "(?s)\\A" + ".*".join(runs) + "\\z"


Run = list[str | None]


def like_runs(pattern: str, escape: str) -> list[Run]:
    """Split a LIKE pattern at each %, into letters; None is any one character.

    >>> like_runs("a#__%b", "#")
    [['a', '_', None], ['b']]
    """
    runs: list[Run] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            runs[-1].append(next(letters))
        elif letter == "%":
            runs.append([])
        else:
            runs[-1].append(None if letter == "_" else letter)
    return runs


def regex_of(run: Run) -> str:
    """Write a run of letters as a regular expression."""
    return "".join("." if letter is None else re.escape(letter) for letter in run)


def _like(call: Call) -> Plain | None:
    pattern, escape = (constant(each) for each in call.args[1:])
    if not isinstance(pattern, str) or not isinstance(escape, str):
        return None
    if len(pattern) > PATTERN_CHARS_MAX:
        return None
    runs = like_runs(pattern, escape)
    if any(None in run for run in runs):
        return _matching(runs)
    match ["".join(letter for letter in run if letter) for run in runs]:
        case [whole]:
            return lambda text: text == whole
        case ["", inner, ""]:
            return lambda text: inner in text
        case [start, ""]:
            return lambda text: text.startswith(start)
        case ["", end]:
            return lambda text: text.endswith(end)
        case _:
            return _matching(runs)


def _matching(runs: Sequence[Run]) -> Plain:
    """Match each run at its first place: an atomic group is not tried at another one."""
    first, *others = map(regex_of, runs)
    if others:
        first += "".join(f"(?>.*?{each})" for each in others[:-1]) + f".*{others[-1]}"
    fullmatch = re.compile(f"(?s){first}").fullmatch
    return lambda text: fullmatch(text) is not None


def _bounded(text: str) -> str:
    """Leave a text that may be too long for an array to the form by column."""
    if 4 * len(text) > texts.ARRAY_BYTES_MAX:
        raise OverflowError
    return text


def _concat(*values: Any) -> str | None:
    return None if None in values else _bounded("".join(values))


def _concat_known(*values: str | None) -> str:
    return _bounded("".join(value for value in values if value))


def _by_letter(ascii: Callable[[str], str], kernel: Callable[[str], pa.Scalar]) -> Maker:
    """Ask Arrow about letters beyond ASCII, of which Python knows other mappings."""
    return always(lambda text: ascii(text) if text.isascii() else kernel(text).as_py())


def _of_ascii(plain: Callable[[bytes], bytes]) -> Maker:
    return always(lambda text: plain(text.encode()).decode())


def _trimmed(strip: Callable[[str, str], str]) -> Maker:
    def make(call: Call) -> Plain | None:
        characters = constant(call.args[1])
        return (lambda text: strip(text, characters)) if isinstance(characters, str) else None

    return make


def _part(call: Call) -> Plain | None:
    if not all(isinstance(each, Literal) for each in call.args[1:]):
        return None
    return operator.itemgetter(slice(*(constant(each) for each in call.args[1:])))


def _replaced(call: Call) -> Plain | None:
    old, new = (constant(each) for each in call.args[1:])
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    return lambda text: _bounded(text.replace(old, new))


STRINGS: dict[str, Entry] = {
    "concat": Entry(concat, of_nulls(always(_concat))),
    "concat_known": Entry(concat_known, of_nulls(always(_concat_known))),
    "length": Entry(length, of_one(always(len))),
    "upper": Entry(upper, of_one(_by_letter(str.upper, pc.utf8_upper))),
    "lower": Entry(lower, of_one(_by_letter(str.lower, pc.utf8_lower))),
    "upper_ascii": Entry(upper_ascii, of_one(_of_ascii(bytes.upper))),
    "lower_ascii": Entry(lower_ascii, of_one(_of_ascii(bytes.lower))),
    "upper_full": Entry(upper_full, of_one(always(str.upper))),
    "lower_full": Entry(lower_full, of_one(always(str.lower))),
    "trim": Entry(trim, of_one(_trimmed(str.strip))),
    "trim_left": Entry(trim_left, of_one(_trimmed(str.lstrip))),
    "trim_right": Entry(trim_right, of_one(_trimmed(str.rstrip))),
    "slice": Entry(part, of_one(_part)),
    "replace": Entry(replace, of_one(_replaced)),
    "reverse": Entry(reverse, of_one(always(operator.itemgetter(slice(None, None, -1))))),
    "starts_with": Entry(starts_with, of_two(always(str.startswith))),
    "ends_with": Entry(ends_with, of_two(always(str.endswith))),
    "contains": Entry(contains, of_two(always(str.__contains__))),
    "position": Entry(position, of_two(always(lambda text, part: text.find(part) + 1))),
    "like": Entry(like, of_one(_like)),
}
