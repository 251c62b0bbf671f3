"""The rates that the service aims for, as ratios to other servers (docs/performance.md#what-is-compared)."""

from dataclasses import dataclass

OURS, GROWN, BEFORE, STOCK, NODE = "ours", "ours, grown", "before", "stock", "node-oidc-provider"


@dataclass(frozen=True)
class Aim:
    """The lowest ratio to the other server's rate that meets the aim, and optionally a higher one (`stretch`)."""

    least: float
    stretch: float | None = None

    def result(self, reached: float) -> str:
        """Return a ratio with its aim and whether it is met, such as `1.64 / 1.5 met`."""
        text = f"{reached:.2f} / {self.least} {'met' if reached >= self.least else 'MISSED'}"
        if self.stretch is None:
            return text
        return f"{text} (stretch {self.stretch}{' met' if reached >= self.stretch else ''})"


# By operation and contender. `me` is compared with the userinfo of contenders that have no /v1/me.
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
# The rate with many tokens (`--grown`), as a ratio to the rate with few.
GROWN_AIM = Aim(0.95)


def aim_cell(operation: str, other: str, reached: float) -> str:
    """Return a cell of the table of aims: the ratio, and if there is an aim, whether it is met."""
    aim = GROWN_AIM if other == GROWN else AIMS.get((operation, other))
    return f"{reached:.2f}" if aim is None else aim.result(reached)
