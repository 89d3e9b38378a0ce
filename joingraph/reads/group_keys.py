"""Which groups a read looks at, by what it asks of their keys.

    where fan = 'bob'               one key                 the group by its key
    where a IN (1, 2) AND b = 3     two keys                2 groups by their keys
    where a > 1 AND n > 5           columns of the key      keys that pass, then their groups

More groups may be looked at than are asked for, never fewer: all conditions are tested behind that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from joingraph.expressions.tree import Call, Expression
from joingraph.expressions.words import Word
from joingraph.reads.access_paths import KEYS_MAX, AllGroups, facts_of, key_words
from joingraph.reads.row_lookup import of_keys
from joingraph.sql.definition import Grouping


class GroupsByKey(NamedTuple):
    """Find groups by their keys, each of which is there once."""

    keys: tuple[tuple[Word, ...], ...]


GroupsWay = AllGroups | GroupsByKey


def choose_groups(grouping: Grouping, conditions: Sequence[Expression]) -> GroupsWay:
    """Choose at which of the groups that are kept a read looks."""
    facts, choices = facts_of(conditions), list[list[Word]]()
    nulls = [
        each.args for each in conditions if isinstance(each, Call) and each.function == "is_null"
    ]
    names = grouping.values[: grouping.keys]
    for name in names:
        if name in facts:
            choices.append(key_words(facts[name], name.type))
        elif (name,) in nulls:
            choices.append([None])
    if names and len(choices) == len(names) and prod(map(len, choices)) <= KEYS_MAX:
        return GroupsByKey(tuple(product(*choices)))
    return AllGroups(tests=tuple(of_keys(grouping, conditions)))
