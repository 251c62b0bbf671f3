"""Requests to URLs that people outside have entered, with protection against SSRF.

docs/domains.md#requests-that-leave-the-service lists the protections.
"""

from core.outbound.fetching import Answer, fetch
from core.outbound.limits import MAX_BYTES, MAX_REDIRECTS, SECONDS
from core.outbound.name_lookup import txt_records
from core.outbound.targets import TEXTS, Code, OutboundRefused, text_of

__all__ = [
    "MAX_BYTES", "MAX_REDIRECTS", "SECONDS", "TEXTS", "Answer", "Code", "OutboundRefused", "fetch", "text_of",
    "txt_records",
]  # fmt: skip
