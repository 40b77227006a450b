"""From a scenario to the transfers of its flows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from minitopo_dc.addresses import SERVER_PORT
from minitopo_dc.outcome import chosen_runners
from minitopo_dc.plan import client_legs
from minitopo_dc.scenario import Scenario
from runners.base import Transfer
from runners.certificate import make_certificate
from runners.session import Job


def make_jobs(
    scenario: Scenario, directory: Path, server: str, client: Callable[[int], str]
) -> list[Job]:
    """A transfer a flow, each with a port of its own.

    Several flows keep their files in ``flow-1``, ``flow-2``, ... below ``directory``.

    Args:
        scenario: what is wanted.
        directory: of the run.
        server: its address.
        client: gives the client's address on a leg (1, 2, ...).

    Raises:
        SettingsError: a transport is not known, or not with such a mode or options.
    """
    made = make_certificate(directory, [server])
    runners = chosen_runners(scenario)
    jobs = []
    for index, (runner, flow) in enumerate(zip(runners, scenario.resolved_flows, strict=True)):
        name = f"flow-{index + 1}" if scenario.flows else ""
        transfer = Transfer(
            size_bytes=scenario.requested_bytes,
            congestion_control=flow.congestion_control,
            server_address=server,
            port=SERVER_PORT + index,
            client_addresses=tuple(client(leg) for leg in client_legs(scenario, flow)),
            directory=directory / name,
            certificate=made.certificate,
            key=made.key,
            timeout_s=scenario.timeout_s + (scenario.duration_s or 0),
            options=flow.options,
            duration_s=scenario.duration_s,
        )
        jobs.append(Job(runner, transfer, name))
    return jobs
