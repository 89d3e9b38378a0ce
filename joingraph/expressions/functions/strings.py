"""Functions of text. Characters are Unicode code points; patterns are constants.

Only `position` and searches for a text from another column go row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.fault import Datum, Function, columns, length_of


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
    parts: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            parts.append(re.escape(next(letters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(letter) or re.escape(letter))
    return "(?s)\\A" + "".join(parts) + "\\z"


STRINGS: dict[str, Function] = {
    "concat": concat,
    "concat_known": concat_known,
    "length": length,
    "upper": upper,
    "lower": lower,
    "upper_ascii": upper_ascii,
    "lower_ascii": lower_ascii,
    "upper_full": upper_full,
    "lower_full": lower_full,
    "trim": trim,
    "trim_left": trim_left,
    "trim_right": trim_right,
    "slice": part,
    "replace": replace,
    "reverse": reverse,
    "starts_with": starts_with,
    "ends_with": ends_with,
    "contains": contains,
    "position": position,
    "like": like,
}
