"""Prepared reads: SQL compiled once from a queryset and run many times (docs/architecture.md#prepared-queries).

Compiling is most of what an ORM query costs: for a joined read 1.8 ms on SQLite and 5.5 ms on PostgreSQL, compared with
0.09 and 0.3 ms to run it. The queryset stays the source: table and column names, joins and conversions are Django's.
On PostgreSQL, the server prepares the statement as well (settings: server_side_binding, prepare_threshold).
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.db import connections, models
from django.db.models import BigIntegerField, CharField, DateTimeField, Value
from django.db.models.base import ModelState
from django.db.models.functions import Cast

ALIAS = "default"


class Placeholder(str):
    """A stand-in for a text argument: passed to `build` as a value, and found again among the SQL parameters."""

    __slots__ = ()


def as_number(argument: str) -> Cast:
    """Return the expression for a text argument that is a whole number, such as a primary key."""
    return Cast(Value(argument, output_field=CharField()), BigIntegerField())


def as_time(argument: str) -> Cast:
    """Return the expression for a text argument that is a time in ISO 8601 format."""
    return Cast(Value(argument, output_field=CharField()), DateTimeField())


class _Compiled(NamedTuple):
    """A queryset compiled for one database engine."""

    sql: str
    places: list[int | None]  # indexes of the arguments among the parameters; None: a constant
    constants: tuple[Any, ...]
    converters: dict[int, Any]
    statement: Any  # a statement of core/database/postgres/statements.py, None if it can't be used


class PreparedQuery:
    """A `.values_list()` queryset with stand-ins for text arguments, compiled at first use on each engine.

    `build` is called with one stand-in for each name in `arguments`. Only text columns may be compared with them; for
    other columns there are `as_number` and `as_time`.
    """

    def __init__(self, arguments: Sequence[str], build: Callable[..., "models.QuerySet[Any, Any]"]) -> None:
        self._stand_ins = [Placeholder(f"\x02{name}\x03") for name in arguments]
        self._build = build
        self._compiled: dict[str, _Compiled] = {}
        self._lock = threading.Lock()

    def rows(self, *arguments: str) -> Sequence[Sequence[Any]]:
        """Run the statement and return its rows, converted as Django converts them."""
        connection: Any = connections[ALIAS]
        compiled = self._compiled.get(connection.vendor) or self._compile(connection)
        parameters = [
            constant if place is None else arguments[place]
            for place, constant in zip(compiled.places, compiled.constants, strict=True)
        ]
        if compiled.statement is not None:
            found: Sequence[Sequence[Any]] | None = connection.fetch(compiled.statement, parameters)
            if found is not None:
                return found
        return self._by_cursor(connection, compiled, parameters)

    def _by_cursor(self, connection: Any, compiled: _Compiled, parameters: list[Any]) -> list[list[Any]]:
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, parameters)
            rows = [list(row) for row in cursor.fetchall()]
        for position, (functions, expression) in compiled.converters.items():
            for row in rows:
                for function in functions:
                    row[position] = function(row[position], expression, connection)
        return rows

    def _compile(self, connection: Any) -> _Compiled:
        with self._lock:
            compiler = self._build(*self._stand_ins).query.get_compiler(ALIAS)
            sql, constants = compiler.as_sql()
            places = [self._place(constant) for constant in constants]
            converters = compiler.get_converters([column for column, _, _ in compiler.select])
            statement = None
            if (
                connection.vendor == "postgresql"
                and not converters
                and all(isinstance(c, str | int) for c in constants)
            ):
                statement = connection.new_statement(sql)
            self._compiled[connection.vendor] = compiled = _Compiled(
                sql, places, tuple(constants), converters, statement
            )
        return compiled

    def _place(self, constant: Any) -> int | None:
        return next((place for place, name in enumerate(self._stand_ins) if constant == name), None)


class _Part(NamedTuple):
    """The columns of a row that make one instance, and the instance that it is attached to."""

    path: str
    model: type[models.Model]
    names: tuple[str, ...]
    columns: slice
    parent: str  # its path
    join: Callable[[models.Model, models.Model], None] | None  # to the parent


class RowMapper:
    """The columns of several models that a query reads, and how a row becomes model instances again.

    `parts` maps a path ("" for the root, "family__connection" and so on) to a model and its fields. A field that is
    not named is deferred: reading it runs another query, which the tests that count statements notice.

    With `attach=False` the instances are not joined: for paths that lead to many rows, or that skip relations.
    """

    def __init__(self, parts: dict[str, tuple[type[models.Model], tuple[str, ...]]], *, attach: bool = True) -> None:
        self._parts: list[_Part] = []
        self.paths: list[str] = []
        for path, (model, fields) in parts.items():
            names = _in_order(model, fields)
            columns = slice(len(self.paths), len(self.paths) + len(names))
            parent, _, name = path.rpartition("__")
            join = _joining(parts[parent][0], name) if path and attach else None
            self._parts.append(_Part(path, model, names, columns, parent, join))
            self.paths += [f"{path}__{name}" if path else name for name in names]

    def build(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return an instance (or None, for an outer join without a match) for each path, joined to each other."""
        found: dict[str, Any] = {}
        for path, model, names, columns, parent, join in self._parts:
            values = row[columns]
            if values[0] is None:
                found[path] = None
                continue
            # Create the instance as unpickling does: without the signals that `__init__` sends for each.
            instance = found[path] = model.__new__(model)
            instance._state = state = ModelState()
            state.adding, state.db = False, ALIAS
            instance.__dict__.update(zip(names, values, strict=True))
            if join is not None and (other := found[parent]) is not None:
                join(other, instance)
        return found


def _joining(model: type[models.Model], name: str) -> Callable[[models.Model, models.Model], None]:
    """Return a function that attaches a related instance to one of `model`, as a foreign key or an annotation."""
    field: Any = next((field for field in model._meta.concrete_fields if field.name == name), None)
    if field is not None:
        return field.set_cached_value  # type: ignore[no-any-return]
    return lambda instance, related: setattr(instance, name, related)


def _in_order(model: type[models.Model], fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the primary key and `fields` in the model's order; the key comes first, because `build` reads it first."""
    return tuple(f.attname for f in model._meta.concrete_fields if f.primary_key or f.attname in fields)


class InsertSpec:
    """The columns of a model that an INSERT … SELECT fills; all other columns take their default.

    `values` maps a column's attribute to SQL: a named parameter, a literal, or a column of the source. The SQL is
    trusted.
    """

    def __init__(self, model: type[models.Model], values: dict[str, str]) -> None:
        self._model = model
        self._fields: list[Any] = [next(f for f in model._meta.concrete_fields if f.attname == name) for name in values]
        self._values = list(values.values())

    def sql(self, connection: Any, source: str) -> str:
        """Return the statement that inserts a row for each row of `source` (a table and its conditions)."""
        columns = ", ".join(f'"{field.column}"' for field in self._fields)
        into = f'INSERT INTO "{self._model._meta.db_table}" ({columns})'
        return f"{into} SELECT {self._selected(connection)} FROM {source}"  # noqa: S608  (names from the models)

    def _selected(self, connection: Any) -> str:
        if connection.vendor != "postgresql":
            return ", ".join(self._values)
        # The server has to know the types of parameters and literals that it selects.
        types = (field.db_type(connection) for field in self._fields)
        return ", ".join(f"{value}::{kind}" for value, kind in zip(self._values, types, strict=True))
