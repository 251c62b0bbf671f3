"""Prepared reads: SQL compiled once from a queryset and run many times (docs/architecture.md#prepared-queries).

Compiling is most of what an ORM query costs (1.8 ms of a joined read on SQLite, 5.5 on PostgreSQL, against 0.09 and
0.3 for running it). The queryset stays the source: names of tables and columns, joins and conversions are Django's.
On PostgreSQL the server prepares the statement as well (settings: server_side_binding, prepare_threshold).
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections, models
from django.db.models.base import ModelState

ALIAS = "default"


class Placeholder(str):
    """A placeholder for a text argument: passed to `build` as a value, and found again among the SQL parameters."""

    __slots__ = ()


class PreparedQuery:
    """A `.values_list()` queryset with stand-ins for text arguments, compiled at its first use on each engine.

    `build` is called with as many stand-ins as `arguments` names; only text columns may be compared with them.
    """

    def __init__(self, arguments: Sequence[str], build: Callable[..., "models.QuerySet[Any, Any]"]) -> None:
        self._stand_ins = [Placeholder(f"\x02{name}\x03") for name in arguments]
        self._build = build
        self._compiled: dict[str, tuple[str, list[int | None], tuple[Any, ...], Any]] = {}
        self._lock = threading.Lock()

    def rows(self, *arguments: str) -> list[list[Any]]:
        """Run the statement and return its rows, converted as Django converts them."""
        connection = connections[ALIAS]
        compiled = self._compiled.get(connection.vendor) or self._compile(connection)
        sql, places, constants, converters = compiled
        parameters = [
            constant if place is None else arguments[place] for place, constant in zip(places, constants, strict=True)
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = [list(row) for row in cursor.fetchall()]
        for position, (functions, expression) in converters.items():
            for row in rows:
                for function in functions:
                    row[position] = function(row[position], expression, connection)
        return rows

    def _compile(self, connection: Any) -> tuple[str, list[int | None], tuple[Any, ...], Any]:
        with self._lock:
            compiler = self._build(*self._stand_ins).query.get_compiler(ALIAS)
            sql, constants = compiler.as_sql()
            places = [self._place(constant) for constant in constants]
            converters = compiler.get_converters([column for column, _, _ in compiler.select])
            self._compiled[connection.vendor] = compiled = (sql, places, tuple(constants), converters)
        return compiled

    def _place(self, constant: Any) -> int | None:
        return next((place for place, name in enumerate(self._stand_ins) if constant == name), None)


class RowMapper:
    """Which columns of which models a read takes, and how a row becomes instances again.

    `parts` maps a path ("" for the root, "family__connection" and so on) to a model and its fields. A field that is
    not named is deferred: touching it asks the database, which the tests that count statements notice.

    With `attach=False` the instances stand for themselves: for paths that lead to many, or leave steps out.
    """

    def __init__(self, parts: dict[str, tuple[type[models.Model], tuple[str, ...]]], *, attach: bool = True) -> None:
        self._attach = attach
        self._parts = [(path, model, _in_order(model, fields)) for path, (model, fields) in parts.items()]
        self.paths = [f"{path}__{name}" if path else name for path, _, names in self._parts for name in names]

    def build(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return an instance (or None, for an outer join without a match) for each path, as `attach` says."""
        found: dict[str, Any] = {}
        start = 0
        for path, model, names in self._parts:
            values = row[start : start + len(names)]
            start += len(names)
            instance = None if values[0] is None else _instance(model, names, values)
            found[path] = instance
            parent, _, name = path.rpartition("__")
            if self._attach and path and instance is not None and found.get(parent) is not None:
                setattr(found[parent], name, instance)
        return found


def _instance(model: type[models.Model], names: tuple[str, ...], values: Sequence[Any]) -> models.Model:
    """Return an instance as unpickling would: without the signals that `__init__` sends for each."""
    instance = model.__new__(model)
    instance._state = ModelState()
    instance._state.adding, instance._state.db = False, ALIAS
    instance.__dict__.update(zip(names, values, strict=True))
    return instance


def _in_order(model: type[models.Model], fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the primary key and `fields` in the model's own order; the key first, as `build` looks for it."""
    return tuple(f.attname for f in model._meta.concrete_fields if f.primary_key or f.attname in fields)


class InsertSpec:
    """The columns of one model that an insert fills from another relation; all others take the column's default.

    `values` maps a column's attribute to SQL: a named parameter, a literal, or a column of the relation. It is trusted.
    """

    def __init__(self, model: type[models.Model], values: dict[str, str]) -> None:
        self._model = model
        self._fields: list[Any] = [next(f for f in model._meta.concrete_fields if f.attname == name) for name in values]
        self._values = list(values.values())

    def sql(self, connection: Any, source: str) -> str:
        """Return the statement that inserts a row for each of `source` (a relation, and which of its rows)."""
        columns = ", ".join(f'"{field.column}"' for field in self._fields)
        into = f'INSERT INTO "{self._model._meta.db_table}" ({columns})'
        return f"{into} SELECT {self._selected(connection)} FROM {source}"  # noqa: S608  (names from the models)

    def _selected(self, connection: Any) -> str:
        if connection.vendor != "postgresql":
            return ", ".join(self._values)
        # The server has to know the types of parameters and literals that it selects.
        types = (field.db_type(connection) for field in self._fields)
        return ", ".join(f"{value}::{kind}" for value, kind in zip(self._values, types, strict=True))
