"""The oracle: random views and feeds, every batch compared with a recomputation from scratch.

kinds.py     column types, their small domains, how DuckDB writes their values
case.py      what a case is: tables, a view, a feed of batches
fragments.py random expressions and conditions over the columns in sight
views.py     random views
grouped.py   random views that group
joins.py     trees of outer joins, and subqueries: data, and its SQL
outer.py     random views over such trees
values.py    what a view that groups holds, exactly, of what judges say
feeds.py     random batches over a model of the base tables
generate.py  case(seed)
ask.py       how a case is handed to joingraph: in which form of input
judges.py    DuckDB and SQLite, which say what the view should hold
run.py       one case against every form of the graph and every look-ahead mode
run_groups.py  one case of a view that groups: what only groups promise besides
run_outer.py  one case of a view with outer joins, EXISTS or IN
search.py    many seeds; what went wrong, told with its replay
shrink.py    a failing case -> a smaller one that still fails
shrink_joins.py  its part for trees of joins
report.py    a case -> a golden script
__main__.py  python -m tests.oracle --cases N --seed S --jobs J
"""
