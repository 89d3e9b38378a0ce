"""Random views and feeds in every form of view diffs, compared after every batch."""

from __future__ import annotations

from random import Random

import pytest

import joingraph as jg
from joingraph.forms import FORMS
from tests import ENGINES, LOOKAHEADS
from tests.oracle.ask import asked, loaded
from tests.oracle.forms_outputs import Copies, check_step
from tests.oracle.judges import Model
from tests.oracle.keyed import keyed_case

CASES = 150
CHUNK = 10


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_every_form_of_view_diffs_agrees_with_a_recomputation(first: int) -> None:
    for seed in range(first, first + CHUNK):
        try:
            run(seed)
        except Exception as error:
            error.add_note(f"seed {seed}\n{keyed_case(seed).case.view.sql}")
            raise


def run(seed: int) -> None:
    """Feed one case to three graphs, one for each form."""
    random, keyed = Random(seed), keyed_case(seed)
    case = keyed.case
    view = jg.View(case.view.sql, tables=keyed.tables, dialect="duckdb")
    graphs = {
        form: jg.JoinGraph(view, engine=random.choice(ENGINES), lookahead=random.choice(LOOKAHEADS))
        for form in FORMS
    }
    model = Model(case)
    model.apply(case.load)
    for graph in graphs.values():
        graph.load(loaded(case))
    copies = Copies(graphs["rows"].to_arrow(), random)
    tables = {table.name: table for table in case.tables}
    for batch in case.batches:
        model.apply(batch.entries)
        check_step(graphs, asked(random, tables, batch.entries), copies, model.view())
