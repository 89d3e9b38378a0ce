"""Golden scripts: one behaviour a file, written to be read, played on every form of the graph.

literals.py  a row as SQL writes it <-> a row of Python values
script.py    a file <-> its tables, its view and its steps with what they should give
play.py      steps -> what they give, on one form of the graph in one look-ahead mode
dump.py      the join graph -> lines to compare
__main__.py  python -m tests.golden [--update] [FILE...]
"""
