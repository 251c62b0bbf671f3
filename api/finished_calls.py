"""Finished calls: each one is counted, and has an entry in the request log."""

from typing import NamedTuple

from api import request_log, usage_counts
from core.http import request_id
from oidc.values.reasons import Facts


class FinishedCall(NamedTuple):
    """A finished call. `api` is the slug of a company's own API, "" for the API at `/v1`.

    `endpoint` is the name that the call is counted under. `address` is the caller's IP address, "" if it is unknown or
    the caller is no API key: it is only used for the key's "last used". `facts` explain a refusal.
    """

    owner: usage_counts.CallOwner
    endpoint: str
    method: str
    path: str
    status: int
    code: str = ""
    api: str = ""
    address: str = ""
    facts: Facts | None = None


def record(call: FinishedCall, seconds: float) -> None:
    """Log a call that took `seconds`, and count it if its credential was proven."""
    owner = call.owner
    request_log.record_request(
        project_id=owner.project,
        api=call.api,
        method=call.method,
        path=request_log.redact_path(call.path),
        status=call.status,
        code=call.code,
        milliseconds=round(seconds * 1000),
        credential=owner.key,
        client=owner.client,
        subject=request_log.mask_subject(owner.sub),
        request_id=request_id.current(),
        **({"address": call.address} if call.address else {}),
        **({"parameters": call.facts} if call.facts else {}),
    )
    if owner.project is not None:
        labels = usage_counts.CallLabels(owner.project, owner.key, owner.client, call.endpoint, call.status, call.code)
        usage_counts.record_call(labels, seconds)
