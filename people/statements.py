"""Querysets of which the SQL is made once, for the steps that people take most.

Building such a statement takes Django three to five times as long as running it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import ModelIterable, get_related_populators
from django.db.transaction import TransactionManagementError

M = TypeVar("M", bound=Model)
LARGEST = 2**63 - 1
# As many of each type as are needed; numbers fit into the smallest column.
STAND_INS: Mapping[type, Callable[[int], Any]] = {
    int: lambda number: 31_000 + number,
    str: "stand-in {}".format,
    UUID: lambda number: UUID(int=number),
    datetime: lambda number: datetime.fromtimestamp(number, UTC),
}


@dataclass(frozen=True)
class _Made:
    """SQL with its values, the positions of those that each name stands for, and how rows become what was asked for."""

    sql: str
    values: Sequence[Any]
    places: Mapping[str, Sequence[int]]
    converters: Mapping[int, Any]
    read: Callable[[Sequence[Any]], Any]
    must_be_atomic: bool


class Statement(Generic[M]):
    """A queryset with values that are given each time it is asked.

    Its rows are those of `build(**values).all()`, which is the plain way to write it; a test compares the two. It may
    have `select_related`, `defer` and locks, or `values_list`, but no `prefetch_related` and no sliced or empty result.
    """

    def __init__(self, build: Callable[..., QuerySet[M, Any]], **types: type) -> None:
        """`types` are those of the arguments of `build`: of `STAND_INS`."""
        self.build, self.types = build, types
        self._made: dict[str, _Made] = {}

    def rows(self, **values: Any) -> list[Any]:
        made = self._made.get(connection.vendor) or self._make()
        if made.must_be_atomic and not connection.in_atomic_block:
            raise TransactionManagementError("select_for_update cannot be used outside of a transaction.")
        # A number that no column can hold matches nothing. A database would refuse it.
        if any(isinstance(value, int) and abs(value) > LARGEST for value in values.values()):
            return []
        given = list(made.values)
        for name, value in values.items():
            for at in made.places[name]:
                given[at] = _as_stored(value)
        with connection.cursor() as cursor:
            cursor.execute(made.sql, given)
            found = cursor.fetchall()
        return [made.read(row) for row in _converted(found, made.converters)]

    def get(self, **values: Any) -> M:
        """
        Raises
        ------
        ObjectDoesNotExist
            Of the model: nothing matches.
        """
        for row in self.rows(**values):
            found: M = row
            return found
        raise self.model.DoesNotExist  # type: ignore[attr-defined] # every concrete model has it

    @property
    def model(self) -> type[M]:
        return self._with_stand_ins().model

    def _with_stand_ins(self, changed: str = "") -> QuerySet[M, Any]:
        numbers = {name: 2 * at + (name == changed) for at, name in enumerate(self.types)}
        return self.build(**{name: STAND_INS[kind](numbers[name]) for name, kind in self.types.items()})

    def _make(self) -> _Made:
        queryset = self._with_stand_ins()
        compiler = queryset.query.get_compiler(connection=connection)
        sql, values = compiler.as_sql()
        places = {}
        for name in self.types:
            _sql, others = self._with_stand_ins(name).query.get_compiler(connection=connection).as_sql()
            places[name] = [at for at, (one, two) in enumerate(zip(values, others, strict=True)) if one != two]
        made = _Made(
            sql=sql,
            values=values,
            places=places,
            converters=compiler.get_converters([one[0] for one in compiler.select]),
            read=_reader(compiler) if queryset._iterable_class is ModelIterable else tuple,
            must_be_atomic=queryset.query.select_for_update and connection.features.has_select_for_update,
        )
        self._made[connection.vendor] = made
        return made


def _reader(compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """Make what `ModelIterable` does with each row."""
    info, select, alias = compiler.klass_info, compiler.select, connection.alias
    start, end = info["select_fields"][0], info["select_fields"][-1] + 1
    names = [one[0].target.attname for one in select[start:end]]
    related = get_related_populators(info, select, alias)  # type: ignore[call-arg] # the stubs are of a later Django
    return partial(_read, info["model"], alias, names, slice(start, end), related)


def _read(model: type[Model], alias: str, names: Sequence[str], own: slice, related: Any, row: Sequence[Any]) -> Model:
    made = model.from_db(alias, names, row[own])
    for one in related:
        one.populate(row, made)
    return made


def _converted(rows: Sequence[Sequence[Any]], converters: Mapping[int, Any]) -> Iterator[Sequence[Any]]:
    for row in rows:
        values = list(row)
        for at, (converting, expression) in converters.items():
            for convert in converting:
                values[at] = convert(values[at], expression, connection)
        yield values


def _as_stored(value: Any) -> Any:
    if isinstance(value, UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
