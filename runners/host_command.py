"""Short commands in a host, for a runner that sets hosts up."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from minitopo_dc.runners.base import Host, TransferFailed

COMMAND_TIMEOUT_S = 10.0


def run(host: Host, arguments: Sequence[str]) -> str:
    """Run a short command in a host; returns its standard output.

    Raises:
        TransferFailed: it failed.
    """
    popen = host.popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with popen:
        try:
            output, errors = popen.communicate(timeout=COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            popen.kill()
            raise TransferFailed(f"{' '.join(arguments)} in {host.name} hangs") from None
    if popen.returncode:
        message = errors.decode(errors="replace").strip()
        raise TransferFailed(f"{' '.join(arguments)} in {host.name}: {message}")
    return output.decode()
