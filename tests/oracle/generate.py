"""A case from a seed: the same seed gives the same case everywhere, with every Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from random import Random

from tests.oracle.case import Batch, Case, Column, Table
from tests.oracle.feeds import Feed, telling
from tests.oracle.grouped import grouped
from tests.oracle.kinds import BIGINT, GROUPED_KINDS, INTEGERS, KINDS, TEXT, Kind
from tests.oracle.outer import random_outer_view
from tests.oracle.views import random_view

NAMES = ("x", "y", "z", "u", "v", "w")
QUOTED_NAMES = ('"select"', '"a b"', '"é"', '"One"', "y", '"%s"')
DIALECTS = ("duckdb", "spark", "postgres", "sqlite")
ONLY = ("rows", "groups", "outer")
POISON = 0.35  # of the batches of a view that may be poisoned
GROUPED_OUTER = 0.25
GROUPED_EVERY = 4  # one view in so many groups, unless only some are asked for


def case(seed: int, batches_max: int = 6, *, only: str | None = None) -> Case:
    """Make tables, a view over them and a feed of 3 to `batches_max` batches."""
    if only == "outer":
        return drawn_outer(Random(seed), seed, batches_max)
    groups = only == "groups" or (only is None and seed % GROUPED_EVERY == 0)
    return (drawn_groups if groups else drawn)(Random(seed), seed, batches_max)


def drawn(random: Random, seed: int, batches_max: int = 6) -> Case:
    """Make a case of whatever makes the choices: a seed, or hypothesis while it shrinks."""
    plain = random.random() < 0.25
    tables = random_tables(random, plain=plain)
    view = random_view(random, tables, plain=plain)
    feed = Feed(random, tables, view)
    start = random.choices(("load", "diffs", "nothing"), (60, 25, 15))[0]
    load = feed.load() if start == "load" else ()
    batches = [feed.first()] if start == "diffs" else []
    batches += [feed.batch() for _ in range(random.randint(3, batches_max) - len(batches))]
    noticed = telling(feed.tables, view)
    if noticed is not None and random.random() < 0.4:
        at = random.randrange(len(batches))
        place = random.randint(0, len(batches[at].entries))
        missing = feed.missing(noticed)
        batches[at] = dataclasses.replace(batches[at], missing=missing, at=place)
    dialect = random.choice(DIALECTS) if plain else "duckdb"
    last = feed.overflowing() if not plain and random.random() < 0.15 else None
    return Case(seed, tuple(tables), view, dialect, plain, load, tuple(batches), last)


def drawn_groups(random: Random, seed: int, batches_max: int = 6) -> Case:
    """Make a case of a view that groups; some batches are put off by one that may be refused."""
    plain = random.random() < 0.2
    dialect = random.choice(DIALECTS) if plain else "duckdb"
    tables = random_tables(random, plain=plain, kinds=GROUPED_KINDS)
    joined = random_view(random, tables, plain=plain)
    view = grouped(random, joined, dialect, plain=plain)
    feed = Feed(random, tables, view, hub=random.random() < 0.25)
    load = feed.load() if random.random() < 0.6 else ()
    batches = list[Batch]()
    for _ in range(random.randint(3, batches_max)):
        poison = feed.poison(view) if random.random() < POISON else ()
        batches.append(dataclasses.replace(feed.batch(), poison=poison))
    noticed = telling(feed.tables, view)
    if noticed is not None and random.random() < 0.2:
        batches[0] = dataclasses.replace(batches[0], missing=feed.missing(noticed))
    return Case(seed, tuple(tables), view, dialect, plain, load, tuple(batches), None)


def drawn_outer(random: Random, seed: int, batches_max: int = 6) -> Case:
    """Make a case of a view with outer joins, or one that asks subqueries; some of them group."""
    plain = random.random() < 0.5
    dialect = random.choice(DIALECTS) if plain else "duckdb"
    tables = random_tables(random, plain=plain)
    view = random_outer_view(random, tables, plain=plain)
    noticed = telling({table.name: table for table in tables}, view.flat)
    if any(source.sql != source.tables[0] for source in view.sources):
        noticed = None  # its constants may filter other tables
    if random.random() < GROUPED_OUTER:
        noticed, view = None, grouped(random, view, dialect, plain=plain)
    feed = Feed(random, tables, view)
    feed.rows_max = min(feed.rows_max, random.choice((3, 5, 8)))
    feed.nulls = random.choice((0.08, 0.25))
    load = feed.load() if random.random() < 0.5 else ()
    batches = [feed.batch() for _ in range(random.randint(3, batches_max))]
    if noticed is not None:
        batches[0] = dataclasses.replace(batches[0], missing=feed.missing(noticed))
    return Case(seed, tuple(tables), view, dialect, plain, load, tuple(batches), None)


def random_tables(random: Random, *, plain: bool, kinds: Sequence[Kind] = KINDS) -> list[Table]:
    """Make one to five tables; a column name mostly means the same type everywhere."""
    names = QUOTED_NAMES if random.random() < 0.04 and not plain else NAMES
    types = {name: random_kind(random, kinds, plain=plain) for name in names}
    tables = []
    for i in range(random.randint(1, 5)):
        some = random.sample(names, random.randint(1, 5))
        columns = [Column(name, varied(random, types[name], kinds, plain=plain)) for name in some]
        tables.append(Table(f"t{i}", tuple(columns)))
    return tables


def random_kind(random: Random, kinds: Sequence[Kind], *, plain: bool) -> Kind:
    """Choose a type: small integers half of the time."""
    if plain:
        return random.choice((BIGINT, BIGINT, TEXT))
    return random.choice(INTEGERS if random.random() < 0.5 else kinds)


def varied(random: Random, kind: Kind, kinds: Sequence[Kind], *, plain: bool) -> Kind:
    """Give another width of integer, or any other type, now and then."""
    if plain or random.random() < 0.8:
        return kind
    if kind in INTEGERS and random.random() < 0.8:
        return random.choice(INTEGERS)
    return random_kind(random, kinds, plain=plain)
