"""Every alert rule fires once, stays quiet while all is well, and leads to a paragraph that says what to do."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
MONITORING = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
MINUTES = 90
# By rule: series on which it fires, and the same while all is well; a value a minute, in Prometheus' notation.
WEB, BEAT = 'job="openport-web",instance="a"', 'job="openport-beat",instance="a"'
TOKEN = f'openport_http_requests_total{{{WEB},route="token",method="POST",status='
SLOW = f'openport_http_request_duration_seconds_bucket{{{WEB},route="v1_me",method="GET",le='
DELIVERIES = 'openport_deliveries_total{job="openport-worker",channel="events",outcome='
Series = dict[str, str]
CASES: dict[str, tuple[Series, Series]] = {
    "OpenportDown": ({f"up{{{WEB}}}": "0x90"}, {f"up{{{WEB}}}": "1x90"}),
    "OpenportDatabaseDown": (
        {f'openport_ready{{{WEB},part="database"}}': "0x90"},
        {
            f'openport_ready{{{WEB},part="database"}}': "0x90",
            'openport_ready{job="openport-web",instance="b",part="database"}': "1x90",
        },
    ),
    "OpenportNotReady": (
        {f'openport_state_read{{{WEB},source="web"}}': "0x90"},
        {
            f'openport_state_read{{{WEB},source="web"}}': "1x90",
            f'openport_ready{{{WEB},part="database"}}': "1x90",
            f'openport_ready{{{WEB},part="counters"}}': "0x90",
        },
    ),
    "OpenportTokenErrors": (
        {TOKEN + '"503"}': "0+5x90", TOKEN + '"200"}': "0+100x90"},
        {TOKEN + '"503"}': "0x90", TOKEN + '"401"}': "0+50x90", TOKEN + '"200"}': "0+100x90"},
    ),
    "OpenportErrors": (
        {
            f'openport_http_requests_total{{{WEB},route="authorize",status="500"}}': "0+10x90",
            f'openport_http_requests_total{{{WEB},route="authorize",status="200"}}': "0+90x90",
        },
        {
            f'openport_http_requests_total{{{WEB},route="authorize",status="500"}}': "0+1x90",
            f'openport_http_requests_total{{{WEB},route="authorize",status="200"}}': "0+90x90",
        },
    ),
    "OpenportSlow": (
        {SLOW + '"0.5"}': "0+90x90", SLOW + '"1.0"}': "0+100x90", SLOW + '"+Inf"}': "0+100x90"},
        {SLOW + '"0.05"}': "0+100x90", SLOW + '"0.5"}': "0+100x90", SLOW + '"+Inf"}': "0+100x90"},
    ),
    "OpenportSlotsSaturated": (
        {f"openport_slots_busy{{{WEB}}}": "8x90", f"openport_slots{{{WEB}}}": "8x90"},
        {f"openport_slots_busy{{{WEB}}}": "3x90", f"openport_slots{{{WEB}}}": "8x90"},
    ),
    "OpenportTurnsAway": (
        {f'openport_server_refusals_total{{{WEB},status="503"}}': "0+10x90"},
        {
            f'openport_server_refusals_total{{{WEB},status="503"}}': "0x90",
            f'openport_server_refusals_total{{{WEB},status="413"}}': "0+10x90",
        },
    ),
    "OpenportRefreshTokenReuse": (
        {f'openport_family_revocations_total{{{WEB},reason="ended_refresh_token_reused"}}': "0+2x90"},
        {
            f'openport_family_revocations_total{{{WEB},reason="ended_refresh_token_reused"}}': "0+1x3 3x86",
            f'openport_family_revocations_total{{{WEB},why="revoked_by_the_app"}}': "0+9x90",
        },
    ),
    "OpenportGuessing": (
        {f'openport_sign_ins_total{{{WEB},outcome="wrong_password"}}': "0+120x90"},
        {
            f'openport_sign_ins_total{{{WEB},outcome="wrong_password"}}': "0+10x90",
            f'openport_sign_ins_total{{{WEB},outcome="succeeded"}}': "0+200x90",
        },
    ),
    "OpenportRedisFailures": (
        {f"openport_redis_failures_total{{{WEB}}}": "0+30x90"},
        {f"openport_redis_failures_total{{{WEB}}}": "0x60 1x29"},
    ),
    "OpenportDatabaseConnections": (
        {f"openport_database_connections{{{WEB}}}": "90x90", f"openport_database_connections_max{{{WEB}}}": "100x90"},
        {f"openport_database_connections{{{WEB}}}": "20x90", f"openport_database_connections_max{{{WEB}}}": "100x90"},
    ),
    "OpenportStateUnread": (
        {f'openport_state_read{{{WEB},source="database"}}': "0x90"},
        {
            f'openport_state_read{{{WEB},source="database"}}': "1x90",
            'openport_state_read{job="openport-worker",source="database"}': "0x90",
        },
    ),
    "OpenportReplicaBehind": (
        {f"openport_replica_fresh{{{WEB}}}": "0x90"},
        {f"openport_replica_fresh{{{WEB}}}": "1x90"},
    ),
    "OpenportDiskFull": (
        {f"openport_media_free_bytes{{{WEB}}}": "4x90", f"openport_media_size_bytes{{{WEB}}}": "100x90"},
        {f"openport_media_free_bytes{{{WEB}}}": "6x90", f"openport_media_size_bytes{{{WEB}}}": "100x90"},
    ),
    "OpenportBackupOld": (
        {f"openport_backup_last_success_timestamp_seconds{{{WEB}}}": "-93000x90"},
        {
            f"openport_backup_last_success_timestamp_seconds{{{WEB}}}": "-87000x90",
            'openport_backup_last_success_timestamp_seconds{job="openport-web",instance="b"}': "-93000x90",
        },
    ),
    "OpenportMailServerDown": (
        {
            f"openport_outbox_oldest_seconds{{{WEB}}}": "0+60x90",
            'openport_mails_total{job="openport-worker",outcome="unreachable"}': "0+4x90",
        },
        {
            f"openport_outbox_oldest_seconds{{{WEB}}}": "0+60x90",
            'openport_mails_total{job="openport-worker",outcome="unreachable"}': "9x90",
        },
    ),
    "OpenportMailWaits": (
        {f"openport_outbox_oldest_seconds{{{WEB}}}": "0+60x90"},
        {f"openport_outbox_oldest_seconds{{{WEB}}}": "30x90"},
    ),
    "OpenportMailGivenUp": (
        {f"openport_outbox_given_up{{{WEB}}}": "2x70 3x19"},
        {f"openport_outbox_given_up{{{WEB}}}": "2x90"},
    ),
    "OpenportDeliveriesLate": (
        {f"openport_deliveries_oldest_seconds{{{WEB}}}": "0+60x90"},
        {f"openport_deliveries_oldest_seconds{{{WEB}}}": "12x90", f"openport_deliveries_waiting{{{WEB}}}": "900x90"},
    ),
    "OpenportDeliveriesFail": (
        {DELIVERIES + '"failed"}': "0+60x90", DELIVERIES + '"accepted"}': "0+20x90"},
        {
            DELIVERIES + '"failed"}': "0+20x90",
            DELIVERIES + '"accepted"}': "0+60x90",
            'openport_deliveries_total{job="openport-web",channel="logout",outcome="failed"}': "0+1x90",
        },
    ),
    "OpenportReceiversPaused": (
        {f"openport_receivers_paused{{{WEB}}}": "2x70 5x19"},
        {f"openport_receivers_paused{{{WEB}}}": "2x70 4x19"},
    ),
    "OpenportQueueGrows": (
        {f'openport_queue_length{{{WEB},queue="celery"}}': "0+100x90"},
        {f'openport_queue_length{{{WEB},queue="celery"}}': "12x90"},
    ),
    "OpenportLogEntriesWait": (
        {f"openport_log_entries_waiting{{{WEB}}}": "0+1000x90"},
        {f"openport_log_entries_waiting{{{WEB}}}": "300x90"},
    ),
    "OpenportTaskLate": (
        {
            f'openport_task_last_success_timestamp_seconds{{{WEB},task="a"}}': "60x90",
            f'openport_task_interval_seconds{{{WEB},task="a"}}': "600x90",
        },
        {
            f'openport_task_last_success_timestamp_seconds{{{WEB},task="a"}}': "0+60x90",
            f'openport_task_interval_seconds{{{WEB},task="a"}}': "600x90",
        },
    ),
    "OpenportTaskFails": (
        {f'openport_task_runs_total{{{WEB},task="a",outcome="failed"}}': "0+1x90"},
        {
            f'openport_task_runs_total{{{WEB},task="a",outcome="failed"}}': "0x80 3x9",
            f'openport_task_runs_total{{{WEB},task="a",outcome="succeeded"}}': "0+6x90",
        },
    ),
    "OpenportBeatSilent": (
        {f'openport_tasks_sent_total{{{BEAT},task="a"}}': "7x90"},
        {f'openport_tasks_sent_total{{{BEAT},task="a"}}': "0+6x90"},
    ),
    "OpenportSigningKeyOverdue": (
        {f"openport_signing_key_left_seconds{{{WEB}}}": "-20000x90", f"openport_signing_key_active{{{WEB}}}": "1x90"},
        {f"openport_signing_key_left_seconds{{{WEB}}}": "5000x90", f"openport_signing_key_active{{{WEB}}}": "1x90"},
    ),
    "OpenportReviewWaits": (
        {f"openport_reviews_oldest_seconds{{{WEB}}}": "500000x90"},
        {f"openport_reviews_oldest_seconds{{{WEB}}}": "5000x90"},
    ),
}
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None and os.environ.get("CI") != "true", reason="no promtool: it comes with prometheus"
)


def alerts() -> dict[str, str]:
    """Return the rules' names, and their runbooks."""
    text = RULES.read_text(encoding="utf-8")
    found = dict(re.findall(r"- alert: (\w+).*?runbook: (\S+)", text, re.DOTALL))
    assert len(found) == text.count("- alert:")
    return found


def promtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)


def unit_test(rule: str, series: Series, *, fires: bool) -> dict[str, object]:
    """Return a test in promtool's form: whether the rule has fired at the end of the series, however often."""
    query = f'count(ALERTS{{alertname="{rule}",alertstate="firing"}}) > bool 0 or vector(0)'
    # Beat's series are there in every other case, since that rule fires where there are none.
    given = series if rule == "OpenportBeatSilent" else {**CASES["OpenportBeatSilent"][1], **series}
    return {
        "name": f"{rule} {'fires' if fires else 'is quiet'}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [
            {"expr": query, "eval_time": f"{MINUTES - 1}m", "exp_samples": [{"labels": "{}", "value": int(fires)}]}
        ],
    }


def test_every_rule_has_a_case_and_a_paragraph() -> None:
    assert set(alerts()) == set(CASES)
    for rule, runbook in alerts().items():
        assert runbook == f"docs/monitoring.md#{rule.lower()}"
        paragraph = MONITORING.partition(f"### {rule}\n")[2].partition("\n#")[0].strip()
        assert len(paragraph) > 80, f"{rule} has no paragraph"


@needs_promtool
def test_the_rules_and_the_example_are_well_formed() -> None:
    for kind, file in (("rules", RULES), ("config", RULES.with_name("prometheus.yaml"))):
        done = promtool("check", kind, str(file))
        assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_each_rule_fires_once_and_is_quiet_while_all_is_well(tmp_path: Path) -> None:
    tests = [
        unit_test(rule, series, fires=fires)
        for rule, cases in CASES.items()
        for series, fires in zip(cases, (True, False), strict=True)
    ]
    # JSON is YAML.
    file = tmp_path / "alerts_test.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
