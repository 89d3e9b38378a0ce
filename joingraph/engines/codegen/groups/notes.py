"""Writes how a group is noted: its sums before the first change in a base diff, and after each.

    seen = ld(group, 2)                    its mark: the serial number of its last note
    if seen < first:                       not of this base diff
        sto(notes_0, n, diff | number)     and so on, by column
        sto(group, 2, serial + n)

Where keys say that a row changes a group once, marks are of use only while a batch is folded. Then
what all rows of a list bring alike is added to eight groups at a time, and their notes are stored
as runs of columns: the stores are what takes time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joingraph.engines.codegen.groups.sums import Sum
from joingraph.graph.compiled.groups.group_layout import GroupLayout

ALWAYS = "True"  # marks are of use: nothing is known of keys


def add_lines(groups: GroupLayout, change: Sequence[Sum]) -> tuple[list[str], list[str]]:
    """Return the lines that add sums to a group's, and what holds the new words.

    Variables hold the old ones: `old_0` and so on.
    """
    state, words = len(groups.keys), groups.words
    lines, news = [f"old_{word} = ld(group, {state + word})" for word in range(words)], list[str]()
    for size, each in zip(groups.sizes, change, strict=True):
        word = len(news)
        if size == 1:
            lines.append(f"new_{word} = old_{word} + {each.low}")
            lines.append(f"sto(group, {state + word}, new_{word})")
            news.append(f"new_{word}")
        else:
            lines.append(f"add128(group + {(state + word) * 8}, {each.low}, {each.upper})")
            news += [f"ld(group, {state + word})", f"ld(group, {state + word + 1})"]
    return lines, news


def note_lines(groups: GroupLayout, news: Sequence[str], marks: str) -> list[str]:
    """Return the lines that note a group, given its sums now, and whether marks are of use."""
    state, words = len(groups.keys), groups.words
    mark = state + words
    now = [f"sto(notes_{1 + mark + at}, {{}}, {new})" for at, new in enumerate(news)]
    return [
        "if not quiet:",
        f"    seen = ld(group, {mark})" + ("" if marks == ALWAYS else f" if {marks} else 0"),
        "    if seen < first:",
        "        sto(notes_0, n, diff | number)",
        *(f"        sto(notes_{1 + word}, n, ld(group, {word}))" for word in range(state)),
        *(f"        sto(notes_{1 + state + word}, n, old_{word})" for word in range(words)),
        *(f"        {each.format('n')}" for each in now),
        f"        if {marks}:",
        f"            sto(group, {mark}, serial + n)",
        "        n += 1",
        "    elif not folds:",  # `note_now` does, once the batch has been told of
        *(f"        {each.format('seen - serial')}" for each in now),
    ]


def eight_lines(
    groups: GroupLayout, change: Sequence[Sum], length: str, marks: str
) -> Iterator[str]:
    """Yield the loop that adds the same sums to the groups of a list, eight at a time.

    What is left of the list begins at `rest`: all of it, where groups are marked or not noted.
    """
    state, first, word = len(groups.keys), 1 + len(groups.keys), 0
    yield f"if not (quiet or {marks}):"
    yield f"    rest = {length} & -8"
    yield "    for eight in range(0, rest, 8):"
    pad = " " * 8
    yield f"{pad}some = places8(table, {groups.stride * 8}, numbers + eight * 8)"
    yield f"{pad}sto8(notes_0, n, plus8(run8(numbers + eight * 8), diff))"
    for key in range(state):
        yield f"{pad}sto8(notes_{1 + key}, n, ld8(some, {key}))"
    for size, each in zip(groups.sizes, change, strict=True):
        columns = [first + word, first + groups.words + word]
        if size == 1:
            yield f"{pad}olds = add8(some, {state + word}, {each.low})"
            found = ["olds", f"plus8(olds, {each.low})"]
        else:
            sums = f"add8_wide(some, {state + word}, {each.low}, {each.upper})"
            yield f"{pad}olds, olds_h, news, news_h = {sums}"
            columns = [column + half for column in columns for half in (0, 1)]
            found = ["olds", "olds_h", "news", "news_h"]
        yield from (
            f"{pad}sto8(notes_{at}, n, {of})" for at, of in zip(columns, found, strict=True)
        )
        word += size
    yield f"{pad}n += 8"
