"""The environment of a run's programs."""

from __future__ import annotations

import os
import re

MEDDLING = re.compile(
    "LD_PRELOAD|LD_AUDIT|BASH_ENV|ENV|SSLKEYLOGFILE|CURL_HOME|(https?|all|ftp|no)_proxy"
    "|PYTHON(HOME|STARTUP|INSPECT|BREAKPOINT|WARNINGS)",
    re.IGNORECASE,
)
"""Variables with which a program loads what nobody asked for, writes down its keys, or goes to a
proxy: none of it may change a measurement or run as root."""


def clean_environment() -> dict[str, str]:
    """Return this process' environment without variables that change how programs work."""
    return {name: value for name, value in os.environ.items() if not MEDDLING.fullmatch(name)}
