"""Querysets of which the SQL is made once, for the requests that people send most (docs/decisions/0070-statements.md).

Building such a query takes Django three to five times as long as running it. Elsewhere, write a plain queryset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import ModelIterable, get_related_populators
from django.db.models.signals import post_save, pre_save
from django.db.transaction import TransactionManagementError

M = TypeVar("M", bound=Model)
Result = TypeVar("Result")
MAX_NUMBER = 2**63 - 1
STALE = {"0A000", "26000"}
"""What PostgreSQL says of a planned statement of which a column has another type since, or that it no longer has."""
# As many of each type as are needed; numbers fit into the smallest column.
STAND_INS: Mapping[type, Callable[[int], Any]] = {
    int: lambda number: 31_000 + number,
    str: "stand-in {}".format,
    UUID: lambda number: UUID(int=number),
    datetime: lambda number: datetime.fromtimestamp(number, UTC),
}


@dataclass(frozen=True)
class _CompiledSql:
    """SQL with its values, the positions of those that each name stands for, and how rows become what was asked for."""

    sql: str
    values: Sequence[Any]
    places: Mapping[str, Sequence[int]]
    converters: Mapping[int, Any]
    read: Callable[[Sequence[Any]], Any]
    must_be_atomic: bool


class CompiledQuery(Generic[M]):
    """A queryset with values that are given each time it is asked.

    Its rows are those of `build(**values).all()`, which is the plain way to write it; a test compares the two. It may
    have `select_related`, `defer` and locks, or `values_list`, but no `prefetch_related`. Lists of values have SQL of
    another length each time: it has none.
    """

    def __init__(self, build: Callable[..., QuerySet[M, Any]], **types: type) -> None:
        """`types` are those of the arguments of `build`, of `STAND_INS`."""
        self.build, self.types = build, types
        self._compiled: dict[tuple[str, int | None], _CompiledSql] = {}

    def rows(self, *, limit: int | None = None, **values: Any) -> list[Any]:
        """Return all rows, or the first `limit` of them."""
        # A number that no column can hold matches nothing. A database would refuse it.
        if limit == 0 or not all(map(_fits, values.values())):
            return []
        compiled = self._compiled.get((connection.vendor, limit)) or self._compile(limit)
        if compiled.must_be_atomic and not connection.in_atomic_block:
            raise TransactionManagementError("select_for_update cannot be used outside of a transaction.")
        stored = list(compiled.values)
        for name, value in values.items():
            for place in compiled.places[name]:
                stored[place] = _as_stored(value)
        found = _executed(compiled.sql, stored, lambda cursor: cursor.fetchall())
        return [compiled.read(row) for row in _converted(found, compiled.converters)]

    def first(self, **values: Any) -> M | None:
        """Return the first row of all, or None."""
        return next(iter(self.rows(**values)), None)

    def get(self, **values: Any) -> M:
        """Raises ObjectDoesNotExist of the model: nothing matches."""
        found = self.first(**values)
        if found is None:
            raise self._with_stand_ins().model.DoesNotExist  # type: ignore[attr-defined] # every concrete model has it
        return found

    def _with_stand_ins(self, limit: int | None = None, changed: str = "") -> QuerySet[M, Any]:
        """Build the queryset with a value of its own for each argument, and another one for `changed`."""
        values = {
            name: STAND_INS[kind](2 * number + (name == changed))
            for number, (name, kind) in enumerate(self.types.items())
        }
        return self.build(**values)[:limit]

    def _compile(self, limit: int | None) -> _CompiledSql:
        queryset = self._with_stand_ins(limit)
        compiler = queryset.query.get_compiler(connection=connection)
        sql, values = compiler.as_sql()
        places = {}
        for name in self.types:
            _sql, others = self._with_stand_ins(limit, name).query.get_compiler(connection=connection).as_sql()
            places[name] = [at for at, (one, two) in enumerate(zip(values, others, strict=True)) if one != two]
        self._compiled[connection.vendor, limit] = compiled = _CompiledSql(
            sql=sql,
            values=values,
            places=places,
            converters=compiler.get_converters([one[0] for one in compiler.select]),
            read=_reader(compiler) if queryset._iterable_class is ModelIterable else tuple,
            must_be_atomic=queryset.query.select_for_update and connection.features.has_select_for_update,
        )
        return compiled


def save_columns(row: Model, *names: str) -> None:
    """Do what `row.save(update_fields=names)` does, for a row without parents, in a third of the time.

    Raises DatabaseError: the row is gone.
    """
    model = type(row)
    if pre_save.has_listeners(model) or post_save.has_listeners(model):
        row.save(update_fields=names)
        return
    known = {field.name: field for field in model._meta.concrete_fields}
    fields = [*(known[name] for name in names), model._meta.pk]
    *columns, key = (f"{connection.ops.quote_name(str(field.column))} = %s" for field in fields)
    values = [field.get_db_prep_save(field.pre_save(row, add=False), connection) for field in fields]
    table = connection.ops.quote_name(model._meta.db_table)
    sql = f"UPDATE {table} SET {', '.join(columns)} WHERE {key}"  # noqa: S608
    if not _executed(sql, values, lambda cursor: cursor.rowcount):
        raise DatabaseError("The row to save is gone.")


def _executed(sql: str, values: Sequence[Any], result: Callable[[CursorWrapper], Result]) -> Result:
    try:
        return _executed_once(sql, values, result)
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", "") not in STALE:
            raise
        # This connection would refuse the statement for as long as it lives. The next one plans it anew.
        connection.close()
        if connection.in_atomic_block:
            raise
    return _executed_once(sql, values, result)


def _executed_once(sql: str, values: Sequence[Any], result: Callable[[CursorWrapper], Result]) -> Result:
    with _cursor() as cursor:
        cursor.execute(sql, values)
        return result(cursor)


def _cursor() -> CursorWrapper:
    """A cursor of which PostgreSQL plans a statement once for each connection, which takes longer than running it."""
    cursor = connection.cursor()
    # Django's log of queries knows only those that have their values in their text.
    if connection.vendor == "postgresql" and not connection.queries_logged:
        from django.db.backends.postgresql.base import ServerBindingCursor

        cursor.cursor = ServerBindingCursor(connection.connection)  # type: ignore[call-arg] # the stubs have no base
    return cursor


def _fits(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= MAX_NUMBER


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
