"""Writes how a group is noted: its sums before the first change in a base diff, and after each.

    seen = ld(group, 2)                    its mark: the serial number of its last note
    if seen < first:                       not of this base diff
        sto(notes_0, n, diff | number)     and so on, by column
        sto(group, 2, serial + n)

Where keys say that a row changes a group once, marks are of use only while a batch is folded.
"""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.graph.compiled.groups.group_layout import GroupLayout


def note_lines(groups: GroupLayout, news: Sequence[str], *, is_once: bool) -> list[str]:
    """Return the lines that note a group, whose sums now are given."""
    state, words = len(groups.keys), groups.words
    mark = state + words
    now = [f"sto(notes_{1 + mark + at}, {{}}, {new})" for at, new in enumerate(news)]
    return [
        "if not quiet:",
        f"    seen = ld(group, {mark})" + (" if folds else 0" if is_once else ""),
        "    if seen < first:",
        "        sto(notes_0, n, diff | number)",
        *(f"        sto(notes_{1 + word}, n, ld(group, {word}))" for word in range(state)),
        *(f"        sto(notes_{1 + state + word}, n, old_{word})" for word in range(words)),
        *(f"        {each.format('n')}" for each in now),
        f"        if {'folds' if is_once else 'True'}:",
        f"            sto(group, {mark}, serial + n)",
        "        n += 1",
        "    else:",
        *(f"        {each.format('seen - serial')}" for each in now),
    ]
