"""The exact sums of pairs (y, x) in which neither is NULL, as COVAR, CORR and REGR need them.

    n   y   x   yy   yx   xx        each over the same rows: [y known][x known], y[x known], ...

Sums are of scaled integers. `centred(a, b)` is n times the sum of the products of the deviations
from the means, in the same units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa

from joingraph.aggregates.contract import Asked, refused_type
from joingraph.aggregates.exact import scale_of
from joingraph.aggregates.sums import Factor, Monomial, Sums, specials
from joingraph.expressions.types import is_number

_Y, _X = Factor(0, "known"), Factor(1, "known")
_MONOMIALS: Final[dict[str, Monomial]] = {
    "n": (_Y, _X),
    "y": (Factor(0, "value"), _X),
    "x": (_Y, Factor(1, "value")),
    "yy": (Factor(0, "square"), _X),
    "yx": (Factor(0, "value"), Factor(1, "value")),
    "xx": (_Y, Factor(1, "square")),
}
SPECIALS_OF_ONE: Final = 3
INSTEAD: Final = "write COUNT(y + x), SUM(y), SUM(x), SUM(y * x), ... of rows without NULL"


class Pairs(NamedTuple):
    """What is summed of pairs, and how to read it."""

    types: tuple[pa.DataType, ...]
    names: tuple[str, ...]

    @property
    def monomials(self) -> tuple[Monomial, ...]:
        return (*(_MONOMIALS[name] for name in self.names), *self._specials())

    def _specials(self) -> Iterator[Monomial]:
        """Yield what counts NaN and infinities in y, then in x."""
        yield from specials(0, self.types[0], _X)
        yield from specials(1, self.types[1], _Y)

    def read(self, sums: Sums) -> Moments:
        """Name the sums."""
        odd = sums[len(self.names) :]
        cut = SPECIALS_OF_ONE if specials(0, self.types[0]) else 0
        scales = (scale_of(self.types[0]), scale_of(self.types[1]))
        return Moments(dict(zip(self.names, sums, strict=False)), odd[:cut], odd[cut:], scales)


@dataclass(frozen=True, slots=True)
class Moments:
    """The sums of a bag of pairs; `odd_y` and `odd_x` count NaN, infinity, -infinity."""

    sums: dict[str, int]
    odd_y: Sums
    odd_x: Sums
    scales: tuple[int, int]

    @property
    def count(self) -> int:
        return self.sums["n"]

    def centred(self, a: str, b: str) -> int:
        return self.count * self.sums[a + b] - self.sums[a] * self.sums[b]

    def odd(self, name: str) -> Sums:
        """Return the counts of NaN, infinity, -infinity in y or x."""
        return self.odd_y if name == "y" else self.odd_x

    def is_flat(self, name: str) -> bool:
        """True if y or x is finite and the same in all pairs."""
        return not any(self.odd(name)) and self.centred(name, name) == 0

    @property
    def nans(self) -> tuple[int, int, int]:
        """Count what makes NaN of deviations from a mean."""
        return (sum(self.odd_y) + sum(self.odd_x), 0, 0)


def pairs_of(asked: Asked, *names: str) -> Pairs:
    """Return what to sum of two numeric arguments."""
    if not all(map(is_number, asked.types)):
        raise refused_type(asked, "CAST the arguments to DOUBLE")
    return Pairs(asked.types, names)
