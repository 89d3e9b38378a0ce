"""A base table as declared."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from joingraph.expressions.texts import is_text


@dataclass(frozen=True, slots=True)
class Table:
    """A base table as declared: columns in order, with Arrow types; a key where one is known."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...] = ()
    # Derived, since Arrow takes long to tell: the columns if all may be NULL, those that may not,
    # and those of texts.
    nullable: pa.Schema = field(init=False, repr=False, compare=False)
    required: tuple[int, ...] = field(init=False, repr=False, compare=False)
    texts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        free = pa.schema([each.with_nullable(True) for each in self.schema])
        object.__setattr__(self, "nullable", free)
        required = tuple(at for at, each in enumerate(self.schema) if not each.nullable)
        object.__setattr__(self, "required", required)
        texts = tuple(at for at, each in enumerate(self.schema) if is_text(each.type))
        object.__setattr__(self, "texts", texts)

    def key_alone(self) -> Table:
        """Return the table that has the columns of the key and no others."""
        fields = [self.schema.field(name) for name in self.key]
        return Table(self.name, pa.schema(fields), self.key)
