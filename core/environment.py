"""Reading settings from the environment.

A value that can't be read is collected for the checks, and the default is used. A wrong value then stops the start with
a sentence that names its variable (docs/settings.md#checks-at-the-start) instead of a traceback.
"""

import builtins
import math
from typing import Any

import environ

TRUE = frozenset({"true", "1", "yes", "on", "y", "ok"})
FALSE = frozenset({"false", "0", "no", "off", "n", ""})
Bounds = tuple[float, float]  # the lowest and the highest allowed value


class Env(environ.FileAwareEnv):  # type: ignore[misc]
    """Reads `NAME`, or the file that `NAME_FILE` names, without the newline that editors add at its end.

    `numbers` holds each number that was read, and `bounds` the lowest and highest allowed value, by variable;
    `problems` says which values could not be read.
    """

    def __init__(self, **scheme: Any) -> None:
        super().__init__(**scheme)
        self.numbers: dict[str, builtins.float] = {}
        self.bounds: dict[str, Bounds] = {}
        self.problems: list[str] = []

    def int(self, var: str, default: builtins.int, between: Bounds | None = None) -> builtins.int:
        """Return a whole number. The checks require it to be within `between`, or not negative without it."""
        return int(self._number(var, int, default, between))

    def float(self, var: str, default: builtins.float, between: Bounds | None = None) -> builtins.float:
        """Return a number, which is checked like those of `int`."""
        return self._number(var, float, default, between)

    def get_value(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **kwargs: Any) -> Any:
        if cast is bool:
            return self._boolean(var, default)
        value = super().get_value(var, cast, default, **kwargs)
        if isinstance(value, list):
            return [entry for entry in map(str.strip, value) if entry]
        return value.strip() if isinstance(value, str) else value

    def secrets(self, var: str) -> list[str]:
        """Return a list of secrets, separated by commas, or one per line if there are several lines."""
        text = self.str(var, "")
        parts = text.splitlines() if "\n" in text else text.split(",")
        return [part for part in map(str.strip, parts) if part]

    def _number(self, var: str, cast: Any, default: builtins.float, between: Bounds | None) -> builtins.float:
        text = super().get_value(var, str, "").strip()
        number = default
        if text:
            try:
                number = cast(text)
            except ValueError:
                self.problems.append(f"{var} must be a {'whole number' if cast is int else 'number'}.")
            if not math.isfinite(number):
                self.problems.append(f"{var} must be a number.")
                number = default
        self.numbers[var] = number
        if between is not None:
            self.bounds[var] = between
        return number

    def _boolean(self, var: str, default: bool) -> bool:
        text = super().get_value(var, str, "").strip().lower()
        if text not in TRUE | FALSE:
            self.problems.append(f"{var} must be true or false.")
        return text in TRUE if text and text in TRUE | FALSE else default
