"""Compare the service with an earlier commit, stock django-oauth-toolkit and node-oidc-provider.

python benchmarks/run.py: see README.md in this folder. Progress goes to standard error, and the figures to standard
output, in Markdown.
"""

import argparse
import contextlib
import datetime
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import checkouts, contenders, figures, interpreters, machine, processes, rounds, servers
from benchmarks.contenders import CODES_AT_START, CONNECTIONS, Contender, Place
from tests.services import keeper, postgres, redis

# For each round: signatures per second, and per second of processor time.
Signing = list[tuple[float, float]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--against", metavar="COMMIT", help="beside it this commit of the service")
    parser.add_argument(
        "--python",
        default=sys.executable,
        metavar="COMMAND",
        help="what serves ours, the commit before and stock: an interpreter, or a command that starts one, such as "
        "'chroot /srv/trixie /usr/bin/python3' (default: this one)",
    )
    parser.add_argument("--starts", type=int, default=1, help="how many times all servers are started (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="of each start (default: 5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: 2)")
    every = (*rounds.OPERATIONS, *rounds.API_OPERATIONS)
    parser.add_argument("--only", default=",".join(every), help=f"of {','.join(every)}")
    parser.add_argument(
        "--grown",
        type=int,
        default=0,
        metavar="ROWS",
        help="beside it a second copy of the service that has ROWS access tokens and as many refresh tokens",
    )
    given = parser.parse_args()
    given.only = given.only.split(",")
    if unknown := set(given.only) - set(every):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return given


def prepare(place: Place, against: str | None) -> list[Contender]:
    """Return all contenders, without starting them. Raises NotReady."""
    measured = servers.ours(place)
    if against:
        measured += servers.before(place, checkouts.check_out(against))
    if place.rows:
        measured += servers.grown(place)
    return measured + servers.stock(place) + servers.node(place)


def run(measured: list[Contender], given: argparse.Namespace, core: int | None) -> tuple[figures.Rows, Signing]:
    """Measure in rounds, and return the counts and the rates of signatures."""
    rows: figures.Rows = {}
    signing: Signing = []
    for start in range(given.starts):
        print(f"start {start + 1} of {given.starts}", file=sys.stderr)
        with contenders.running(measured, core):
            for number in range(1, given.rounds + 1):
                print(f"  round {number} of {given.rounds}", file=sys.stderr)
                signing.append(rounds.signing_rate(core))
                for operation, one in rounds.slots(measured, given.only):
                    counted = rounds.measure(operation, one, given.seconds)
                    row = rows.setdefault((operation, one.name), figures.Row(one.server.runs_on))
                    row.add(counted, start)
    return rows, signing


def report(rows: figures.Rows, signing: Signing, about: list[str], grown: int) -> str:
    """Return the report of a run: the machine, the aims, and the figures."""
    parts = [
        "\n".join(f"- {line}" for line in about),
        figures.aims_table(rows, grown),
        figures.table(rows),
        figures.beside_me(rows),
        figures.signatures(rows, signing),
        "\n".join(f"- Doubtful: {doubt}." for doubt in figures.doubts(rows)),
    ]
    return "\n\n".join(filter(None, parts))


def about(place: Place, given: argparse.Namespace) -> list[str]:
    """Return lines about the run: the measured version, the time, and the machine."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    beside = f", the commit before {checkouts.full_id(given.against)[:7]}" if given.against else ""
    starts = f"{given.starts} start{'s' if given.starts > 1 else ''} of all servers"
    return [
        f"{today:%-d %B %Y}; ours {checkouts.state() or 'without git'}{beside}",
        *machine.described(place.postgres_url, place.redis_url),
        f"ours, the commit before and stock run on {place.python.build.long}",
        f"{starts}, {given.rounds} rounds each, {given.seconds:g} s a measurement",
    ]


def main() -> int:
    given = arguments()
    for missing in (postgres.why_missing(), redis.why_missing()):
        if missing:
            print(missing, file=sys.stderr)
            return 1
    tested, rest = processes.cores() or (None, None)
    if tested is None:
        print("cores can't be chosen here; the servers and what loads them share all of them", file=sys.stderr)
    exchanges = rounds.codes_a_slot(given.seconds) * CONNECTIONS * given.rounds if "exchange" in given.only else 0
    try:
        with contextlib.ExitStack() as stack:
            python = interpreters.find(given.python)
            stack.enter_context(processes.on_core(rest))
            folder = stack.enter_context(keeper.folder())
            database, store = stack.enter_context(postgres.start()), stack.enter_context(redis.start())
            codes = given.starts * (CODES_AT_START + exchanges)
            place = Place(folder, database, store, python, codes, given.starts, given.grown)
            rows, signing = run(prepare(place, given.against), given, tested)
            print(report(rows, signing, about(place, given), given.grown))
    except processes.NotReady as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
