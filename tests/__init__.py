"""The suite: golden scripts, the oracle, sqllogictest replay, and tests of each part.

What every behaviour must hold for is said here, once: the forms of the graph and the look-ahead
modes. They never differ in what comes out.
"""

ENGINES = ("reference", "compiled")
LOOKAHEADS = ("none", "local", "global", "exact")
