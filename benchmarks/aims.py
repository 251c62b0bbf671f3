"""What the service should reach, and whether it does. docs/performance.md says why these."""

from dataclasses import dataclass

OURS, GROWN, BEFORE, STOCK, NODE = "ours", "ours, grown", "before", "stock", "node-oidc-provider"


@dataclass(frozen=True)
class Aim:
    """At least this many times the other's rate; `stretch` is what would be better still."""

    least: float
    stretch: float | None = None

    def result(self, reached: float) -> str:
        """Return what was reached beside what was to be."""
        said = f"{reached:.2f} / {self.least} {'met' if reached >= self.least else 'MISSED'}"
        if self.stretch is None:
            return said
        return f"{said} (stretch {self.stretch}{' met' if reached >= self.stretch else ''})"


# By operation of ours and by contender. `me` is compared with userinfo where a contender has no /v1/me.
AIMS = {
    ("me", BEFORE): Aim(2.0, 2.5),
    ("me", STOCK): Aim(4.0),
    ("me", NODE): Aim(0.5, 0.7),
    ("userinfo", BEFORE): Aim(2.0, 2.5),
    ("userinfo", STOCK): Aim(3.5),
    ("userinfo", NODE): Aim(0.5, 0.7),
    ("refresh", BEFORE): Aim(1.5),
    ("refresh", STOCK): Aim(8.0),
    ("refresh", NODE): Aim(0.85, 1.0),
    ("exchange", BEFORE): Aim(1.4),
    ("exchange", STOCK): Aim(7.0),
    ("exchange", NODE): Aim(0.8),
    ("discovery", BEFORE): Aim(2.0),
    ("discovery", NODE): Aim(0.8),
    ("jwks", BEFORE): Aim(2.0),
    ("jwks", NODE): Aim(0.8),
}
# Of the rate with few tokens, with `--grown` many of them.
GROWN_AIM = Aim(0.95)


def said_of(operation: str, other: str, reached: float) -> str:
    """Return a cell of the table of aims: what was reached, and whether that meets the aim, if there is one."""
    aim = GROWN_AIM if other == GROWN else AIMS.get((operation, other))
    return f"{reached:.2f}" if aim is None else aim.result(reached)
