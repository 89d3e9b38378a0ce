"""The join tree as seen from one alias: what may be listed side by side, and what must be together.

    F --- T --- R --- U      from T: branch F; branch R, and below it U
    residual F.x < U.y       from T: one branch F, R, U, each of its combinations listed
    residual T.x < U.y       from T: branch F; branch R, U: a combination is kept or not

A residual predicate or an output expression over several aliases ties together all aliases on the
ways between those it reads, the root left out: of that there is only one. A branch that shows
nothing of itself or below is weighed: its partners only count.

Predicates that may raise an error tie together all that they read, and their branch comes last:
so they are asked where all other branches are known to have partners, on complete paths.

A side of an outer join may be missing: its list has one partner then, of NULLs. Around a flip the
side that flipped is taken for missing; one that is only asked for makes no branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joingraph.expressions.tree import Expression, aliases_of
from joingraph.plan.arrange import beside
from joingraph.plan.kept_columns import is_total, kept_parts
from joingraph.plan.model import Plan
from joingraph.plan.program import Ask, Enter, List, Program, Step, Test, Weigh

Members = frozenset[int]


def lists_program(plan: Plan, root: int, flipped: int | None = None) -> Program:
    """Return the program that makes a change of an alias with its branches as nested lists.

    Around a flip, `flipped` is the alias that the first row came to, or the last one left.
    """
    return Branches(plan, root, flipped).program()


class Branches:
    """Takes the join tree apart as seen from one alias.

    group    alias -> those that it is tied to, itself among them
    late     the residual predicates that may raise an error
    order    alias -> its place among all, nearest first
    """

    def __init__(self, plan: Plan, root: int, flipped: int | None = None) -> None:
        self.plan, self.root, self.flipped = plan, root, flipped
        tree = plan.tree_from(root).items()
        self.tree = {alias: near for alias, near in tree if not plan.aliases[alias].is_silent}
        self.index = {alias.name: alias.index for alias in plan.aliases}
        self.late = {each for each in plan.residuals if not is_total(plan, each)}
        self.group = {alias.index: frozenset([alias.index]) for alias in plan.aliases}
        reads = [self.read(each) for each in tying(plan)]
        reads.append(set[int]().union(*map(self.read, self.late)))
        self.order = {alias: at for at, alias in enumerate((root, *self.tree))}
        for read in filter(None, reads):
            tied = self.between(read)
            merged = tied.union(*(self.group[each] for each in tied))
            self.group |= dict.fromkeys(merged, merged)
        outputs = [each.value for each in plan.definition.output]
        self.columns = self.by_group(outputs)
        self.tests = self.by_group(plan.residuals)
        self.own = [each for each in plan.residuals if self.read(each) == {root}]

    def between(self, read: set[int]) -> Members:
        """Return the aliases on the ways between some, the root left out."""
        found, heads = set(read), set(read)
        while len(heads) > 1:  # the farthest head is on the way of no other
            farthest = max(heads, key=self.order.__getitem__)
            heads.remove(farthest)
            heads.add(self.tree[farthest].alias)
            found |= heads
        return frozenset(found - {self.root})

    def by_group(self, wanted: Sequence[Expression]) -> dict[Members, list[int]]:
        """Number the expressions that read a branch, besides the root perhaps."""
        found: dict[Members, list[int]] = {}
        for at, each in enumerate(wanted):
            for alias in sorted(self.read(each) - {self.root})[:1]:
                found.setdefault(self.group[alias], []).append(at)
        return found

    def program(self) -> Program:
        """Return the steps to all branches, each made before the one it lies beyond."""
        members: dict[Members, list[int]] = {}
        for alias in (self.root, *self.tree):
            members.setdefault(self.group[alias], []).append(alias)
        beyond: dict[Members, list[Step]] = {group: [] for group in members}
        for group, aliases in reversed(members.items()):
            if self.root not in group:
                sides = sorted(beyond[group], key=self.turn)
                nearer = self.tree[aliases[0]].alias
                beyond[self.group[nearer]].insert(0, self.branch(aliases, sides))
        top = sorted(beyond[self.group[self.root]], key=self.turn)
        tests = tuple(each for each in self.own if each not in self.late)
        late = (Test(each) for each in self.own if each in self.late)
        return Program(self.root, None, tests, (*self.asking(self.root, None), *top, *late))

    def turn(self, side: Step) -> tuple[bool, bool]:
        """Return when a branch' turn is: sums first, last the one with what may raise."""
        return self.is_late(side), isinstance(side, List)

    def is_late(self, step: Step) -> bool:
        """True if a step computes a predicate that may raise."""
        if not self.late or isinstance(step, Enter | Ask):
            return False
        if isinstance(step, Test):
            return step.predicate in self.late
        return any(map(self.is_late, step.steps))

    def branch(self, aliases: list[int], beyond: list[Step]) -> Weigh | List:
        """Return the step for a branch: its own aliases, what lies beyond, then what may raise."""
        own, group = list(self.entering(aliases)), self.group[aliases[0]]
        late = [step for step in own if self.is_late(step)]
        steps = (*(step for step in own if step not in late), *beyond, *late)
        columns = tuple(self.columns.get(group, ()))
        if columns or any(isinstance(each, List) for each in beyond):
            names = (self.plan.aliases[each].name for each in sorted(aliases))
            return List(steps, ", ".join(names), columns)
        return Weigh(steps)

    def entering(self, aliases: list[int]) -> Iterator[Step]:
        """Yield the steps into a branch, each with the residual predicates it makes decidable."""
        decided: dict[int, list[Expression]] = {}
        for at in self.tests.get(self.group[aliases[0]], ()):
            test = self.plan.residuals[at]
            last = max(self.read(test) - {self.root}, key=self.order.__getitem__)
            decided.setdefault(last, []).append(test)
        for alias in aliases:
            vertex = self.tree[alias].vertex
            if self.plan.mode(alias, vertex) != "opt":
                yield Enter(alias, vertex)
            else:
                yield Enter(alias, vertex, "null" if alias == self.flipped else "opt")
            yield from self.asking(alias, vertex)
            yield from map(Test, decided.get(alias, ()))

    def asking(self, alias: int, entry: int | None) -> Iterator[Ask]:
        """Yield the steps that ask for others beside an alias."""
        for step in beside(self.plan, alias, entry):
            if isinstance(step, Ask) and step.alias != self.flipped:
                yield step

    def read(self, wanted: Expression) -> set[int]:
        """Return the aliases that an expression reads."""
        return {self.index[name] for name in aliases_of(wanted)}


def columns_of(plan: Plan, alias: int) -> tuple[int, ...]:
    """Return the columns that the view shows of an alias alone."""
    own = {plan.aliases[alias].name}
    outputs = enumerate(plan.definition.output)
    return tuple(at for at, each in outputs if aliases_of(each.value) <= own)


def tying(plan: Plan) -> Iterator[Expression]:
    """Yield what is computed on paths: of several aliases, or of one that may be missing."""
    yield from plan.residuals
    for each in plan.definition.output:
        if aliases_of(each.value) and each.value not in plan.slots:
            yield each.value


def unread(plan: Plan, alias: int) -> frozenset[int]:
    """Name the projected values of an alias that nothing reads: a key index alone keeps them."""
    wanted = [*plan.residuals, *(each.value for each in plan.definition.output)]
    slots = [plan.slots[part] for each in wanted for part in kept_parts(plan, each)]
    read = {slot.position for slot in slots if slot.alias == alias and slot.vertex is None}
    return frozenset(range(len(plan.aliases[alias].projected))) - read
