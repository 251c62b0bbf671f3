"""Faults as Prometheus sees them: which alert comes first and how soon, and that it is the only one that is sent."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.monitoring.test_alerts import MONITORING, RULES, Series, needs_promtool, promtool

ALERTMANAGER: dict[str, Any] = yaml.safe_load(RULES.with_name("alertmanager.yaml").read_text(encoding="utf-8"))
WEB, WORKER, BEAT = 'job="openport-web"', 'job="openport-worker"', 'job="openport-beat"'
# Each value is for 15 seconds. The fault begins after five minutes.
BEGIN, END = 300, 1200
DOWN, ALL_WELL, STILL, GONE = "1x20 0x100", "1x120", "0+15x20 300x100", "1x20 _x100"
RISES, RISES_SOON = "0+15x120", "0x20 0+15x100"


def tokens(status: str) -> str:
    return f'openport_http_requests_total{{{WEB},route="token",method="POST",status="{status}"}}'


def up(job: str) -> str:
    return f"up{{{job}}}"


def ready(part: str) -> str:
    return f'openport_ready{{{WEB},part="{part}"}}'


def read(source: str) -> str:
    return f'openport_state_read{{{WEB},source="{source}"}}'


SENT = f'openport_tasks_sent_total{{{BEAT},task="a"}}'
FAILED = f'openport_task_runs_total{{{WORKER},task="a",outcome="failed"}}'
SUCCESS = f'openport_task_last_success_timestamp_seconds{{{WEB},task="a"}}'
MAIL, DELIVERY = f"openport_outbox_oldest_seconds{{{WEB}}}", f"openport_deliveries_oldest_seconds{{{WEB}}}"
HEALTHY: Series = {
    **{up(job): ALL_WELL for job in (WEB, WORKER, BEAT)},
    **{ready(part): ALL_WELL for part in ("database", "signing_key", "counters")},
    **{read(source): ALL_WELL for source in ("web", "database", "redis", "broker", "media", "replica")},
    tokens("200"): RISES,
    tokens("503"): "0x120",
    SENT: RISES,
    FAILED: "0x120",
    SUCCESS: RISES,
    f'openport_task_interval_seconds{{{WEB},task="a"}}': "10x120",
    f'openport_mails_total{{{WORKER},outcome="unreachable"}}': "0x120",
    MAIL: "0x120",
    DELIVERY: "0x120",
    f"openport_redis_failures_total{{{WEB}}}": "0x120",
    f"openport_signing_key_active{{{WEB}}}": ALL_WELL,
    f"openport_signing_key_left_seconds{{{WEB}}}": "5000x120",
    f"openport_media_free_bytes{{{WEB}}}": "50x120",
    f"openport_media_size_bytes{{{WEB}}}": "100x120",
    f"openport_replica_fresh{{{WEB}}}": ALL_WELL,
    f"openport_slots{{{WEB}}}": "8x120",
    f"openport_slots_busy{{{WEB}}}": "2x120",
    f'openport_server_refusals_total{{{WEB},status="503"}}': "0x120",
}
NO_TASKS = {SUCCESS: STILL, MAIL: RISES_SOON, DELIVERY: RISES_SOON}
NO_TOKENS = {tokens("200"): STILL, tokens("503"): RISES_SOON}
WAITING = ("TaskLate task=a", "MailWaits", "DeliveriesLate")


class Fault(NamedTuple):
    """What changes, the page and within how many seconds it fires, and the alerts that it inhibits until the end."""

    series: Series
    page: str
    seconds: int
    inhibited: tuple[str, ...] = ()


FAULTS = {
    "the database is down": Fault(
        {
            **NO_TOKENS,
            ready("database"): DOWN,
            ready("signing_key"): DOWN,
            read("database"): DOWN,
            FAILED: RISES_SOON,
            SUCCESS: "0+15x20 _x100",
        },
        "DatabaseDown",
        90,
        ("NotReady", "StateUnread source=database", "TokenErrors", "Errors route=token", "TaskFails task=a"),
    ),
    "the database does not answer": Fault(
        {**NO_TOKENS, ready("database"): "1x20 _ 0x99", read("web"): "1x20 0 1x99", read("database"): DOWN},
        "DatabaseDown",
        90,
        ("NotReady", "StateUnread source=database", "TokenErrors", "Errors route=token"),
    ),
    "web processes are frozen": Fault({read("web"): DOWN, ready("database"): GONE}, "NotReady", 90),
    "Redis is down": Fault(
        {
            **NO_TASKS,
            ready("counters"): DOWN,
            read("redis"): DOWN,
            read("broker"): DOWN,
            SENT: STILL,
            f"openport_redis_failures_total{{{WEB}}}": RISES_SOON,
        },
        "RedisFailures",
        120,
        ("StateUnread source=redis", "StateUnread source=broker", "BeatSilent", *WAITING),
    ),
    "the mail server is down": Fault(
        {MAIL: RISES_SOON, f'openport_mails_total{{{WORKER},outcome="unreachable"}}': "0x20 0+1x100"},
        "MailServerDown",
        150,
        ("MailWaits",),
    ),
    "a worker is frozen": Fault(NO_TASKS, "TaskLate task=a", 240, ("MailWaits", "DeliveriesLate")),
    "the worker of events is frozen": Fault({DELIVERY: RISES_SOON}, "DeliveriesLate", 270),
    "a worker is down": Fault({**NO_TASKS, up(WORKER): DOWN}, "Down job=openport-worker", 90, WAITING),
    "beat is frozen": Fault({**NO_TASKS, SENT: STILL}, "BeatSilent", 195, WAITING),
    "beat is down": Fault(
        {**NO_TASKS, SENT: "0+15x20 _x100", up(BEAT): DOWN}, "Down job=openport-beat", 90, ("BeatSilent", *WAITING)
    ),
    "a web server is down": Fault(
        {up(WEB): DOWN, ready("database"): GONE, read("web"): GONE}, "Down job=openport-web", 90
    ),
    "the disk is full": Fault({f"openport_media_free_bytes{{{WEB}}}": "50x20 1x100"}, "DiskFull", 150),
    "the signing key can't be read": Fault(
        {**NO_TOKENS, ready("signing_key"): DOWN, f"openport_signing_key_active{{{WEB}}}": DOWN},
        "NotReady",
        90,
        ("SigningKeyOverdue", "TokenErrors", "Errors route=token"),
    ),
    "the replica is behind": Fault({f"openport_replica_fresh{{{WEB}}}": DOWN}, "ReplicaBehind", 330),
    "slots are saturated": Fault(
        {
            f"openport_slots_busy{{{WEB}}}": "2x20 8x100",
            f'openport_server_refusals_total{{{WEB},status="503"}}': RISES_SOON,
        },
        "TurnsAway",
        210,
        ("SlotsSaturated",),
    ),
}


def named(text: str) -> dict[str, str]:
    """Return the labels of an alert of the table, without the ones that all alerts have."""
    name, *labels = text.split()
    return {"alertname": f"Openport{name}"} | dict(label.split("=") for label in labels)


def firing_test(name: str, series: Series, moments: dict[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return a test in promtool's form: which alerts fire at each of these seconds, and no others."""

    def selector(alert: str) -> str:
        return "{" + ", ".join(f'{label}="{value}"' for label, value in named(alert).items()) + "}"

    firing = 'count by (alertname, source, task, route, job) (ALERTS{alertstate="firing"})'
    return {
        "name": name,
        "interval": "15s",
        "input_series": [{"series": key, "values": values} for key, values in (HEALTHY | series).items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": f"{second}s",
                "exp_samples": [{"labels": selector(alert), "value": 1} for alert in alerts],
            }
            for second, alerts in moments.items()
        ],
    }


def matches(alert: dict[str, str], matchers: list[str]) -> bool:
    """Return whether an alert matches, as Alertmanager decides it."""
    for matcher in matchers:
        found = re.fullmatch(r'(\w+)(=~|!~|!=|=)"(.*)"', matcher)
        assert found is not None, matcher
        label, operator, value = found.groups()
        wanted = value if "~" in operator else re.escape(value)
        if bool(re.fullmatch(wanted, alert.get(label, ""))) == operator.startswith("!"):
            return False
    return True


def sent(alerts: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the alerts that no other one inhibits; an alert that matches both sides never inhibits itself."""

    def inhibits(rule: dict[str, Any], source: dict[str, str], target: dict[str, str]) -> bool:
        if not matches(source, rule["source_matchers"]) or not matches(target, rule["target_matchers"]):
            return False
        both = matches(source, rule["target_matchers"]) and matches(target, rule["source_matchers"])
        return not both and all(source.get(label) == target.get(label) for label in rule.get("equal", ()))

    rules = ALERTMANAGER["inhibit_rules"]
    return [target for target in alerts if not any(inhibits(r, s, target) for r in rules for s in alerts)]


@needs_promtool
def test_each_fault_fires_its_page_in_time_and_then_the_alerts_that_it_inhibits(tmp_path: Path) -> None:
    tests = [firing_test("all is well", {}, {END: ()})]
    for name, fault in FAULTS.items():
        first = (fault.page, "NotReady") if fault.page == "DatabaseDown" else (fault.page,)
        moments = {BEGIN: (), BEGIN + fault.seconds: first, END: (fault.page, *fault.inhibited)}
        tests.append(firing_test(name, fault.series, moments))
    file = tmp_path / "faults_test.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "15s", "tests": tests}))
    done = promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_one_cause_gives_one_page(fault: Fault) -> None:
    page = named(fault.page)
    assert sent([page, *map(named, fault.inhibited)]) == [page]
    paragraph = MONITORING.partition(f"### {page['alertname']}\n")[2].partition("\n#")[0]
    assert "do nothing" not in paragraph


def test_alerts_of_other_services_and_causes_are_sent() -> None:
    others = [named("Down job=openport-web"), named("RedisFailures"), named("DiskFull"), {"alertname": "HostDown"}]
    assert sent([named("DatabaseDown"), *others]) == [named("DatabaseDown"), *others]
    assert sent([named("Down job=openport-web"), named("BeatSilent")]) == [
        named("Down job=openport-web"),
        named("BeatSilent"),
    ]
