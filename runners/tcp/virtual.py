"""Transport `tcp` on the virtual clock: the kernel's TCP in a guest, and the traffic of HTTP/2.

For downloads and requests no curl and no hypercorn run in the guest. Its agent sends what they
send, byte for byte as many, in as many flights: a TLS handshake, requests and answers with the
headers of HTTP/2 and the records of TLS. Content is content, and all of it is checked; what is
around it is zeros. What they take of a processor has no place there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from minitopo_dc.files import CsvFile
from minitopo_dc.linux_guest.orders import orders
from minitopo_dc.runners.base import FlowFacts, TransferFailed
from minitopo_dc.runners.processes.kernel_socket import Subflow
from minitopo_dc.runners.tcp.info import INTERVAL_S, SAMPLE_NS, AgentSamples, info_file, info_rows
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Download, Measurement, RequestResponse, Workload
from minitopo_dc.workloads.exchange import BLOCK, Outcome
from minitopo_dc.workloads.path_reports import PathSample

if TYPE_CHECKING:  # which makes the flows
    from minitopo_dc.runners.tcp.runner import TcpRunner

TlsVersion = Literal["1.2", "1.3"]

# Bytes, as counted on the real clock (`bytes_sent` and `bytes_received` of one connection) and in
# handshakes of Python's ssl with OpenSSL 3.0 and the servers' certificate.
FLIGHTS: Mapping[TlsVersion, tuple[tuple[int, int], ...]] = {
    "1.2": ((226, 561), (93, 242)),
    "1.3": ((517, 717),),
}
"""The client's and the server's; of 1.3 the client's last goes along with its request."""
RECORD: Mapping[TlsVersion, int] = {"1.2": 29, "1.3": 22}
"""What TLS adds to up to 16,384 bytes (AES-256-GCM)."""
FRAME = 9
"""An HTTP/2 frame's header (RFC 9113, section 4.1)."""
BLOCK_BYTES = 16_384
"""Content of one DATA frame: the most that is allowed at first (RFC 9113, section 6.5.2)."""
FIRST_REQUEST: Mapping[TlsVersion, int] = {"1.2": 167, "1.3": 247}
"""curl's: preface, SETTINGS, WINDOW_UPDATE, HEADERS; of 1.3 also the handshake's last flight."""
FIRST_ANSWER: Mapping[TlsVersion, int] = {"1.2": 206, "1.3": 716}
"""SETTINGS and HEADERS of hypercorn; of 1.3 also the tickets of the session."""
REQUEST_HEAD, ANSWER_HEAD = 8, 25
"""Of a later one: its HEADERS, most of which the tables of HPACK hold (RFC 7541)."""


def is_of_agent(workload: Workload) -> bool:
    """Return whether the agent does a workload; in others both ends are programs."""
    clients = (Download.make_client, RequestResponse.make_client)
    return type(workload).make_client in clients


class TcpFlow:
    """Both ends of a flow in one guest: their orders, and what the agent reports."""

    def __init__(self, runner: TcpRunner, facts: FlowFacts) -> None:
        self._runner = runner
        self.facts = facts
        self._multipath = runner.protocol == "mptcp"
        self.samples = AgentSamples(samples=self._multipath)
        self._last: Subflow | None = None
        self._moments: dict[str, int] = {}
        self._bytes = 0
        self._times: dict[str, dict[int, float]] = {"sent": {}, "answered": {}}
        """When which request was sent, and answered (s), by its number."""
        self._error: str | None = None
        self._info: CsvFile | None = None
        if (path := runner.tcp_info(self.facts)) is not None:
            facts.directory.mkdir(parents=True, exist_ok=True)
            self._info = info_file(path)

    def files(self) -> dict[str, bytes]:
        """Return the files that the agent is given."""
        facts = self.facts
        first = facts.client_addresses.index(facts.first_address)
        tls = self._runner.tls(facts)
        made = orders(
            facts.server,
            clients=facts.client_addresses,
            proxy=facts.proxy_address,
            congestion_control=facts.congestion_control,
            sysctl=facts.sysctl,
            multipath=self._multipath,
            begin=facts.begin_ns,
            sample=SAMPLE_NS if self._info is None else round(INTERVAL_S * NS_PER_S),
            mss=self._runner.mss_bytes(facts) or 0,
            earlier=facts.earlier_downloads,
            first=first + 1,
            client_port=facts.client_port,
            attempt=facts.path_plan.attempts,
            attempt_delay=round((facts.path_plan.attempt_delay_s or 0) * NS_PER_S),
            flight=FLIGHTS[tls],
            **_traffic(facts.workload, tls),
            **self.path_orders(),
        )
        return {"orders": made, "content": BLOCK}

    def path_orders(self) -> dict[str, Any]:
        """Return orders for further paths, none as it has one."""
        return {}

    def take(self, words: str) -> bool:
        """Take one report of the agent's; return whether it is the last one."""
        kind, _, rest = words.partition(" ")
        if kind == "error":
            self._error = rest
            return True
        if kind in ("done", "end"):
            self._moments[kind], *count = map(int, rest.split())
            self._bytes = sum(count, self._bytes)
        elif kind in ("subflow", "sample"):
            sampled_ns = self.samples.take(kind, rest)
            if sampled_ns is not None:  # all subflows of it have been reported
                self._last = next(iter(self.samples.latest), self._last)
                if self._info is not None:
                    self._info.add_all(info_rows(sampled_ns, self.samples.latest))
        elif kind in self._times:
            number, moment = map(int, rest.split())
            self._times[kind][number] = self.since_begin(moment)
        elif kind == "begin":
            self._moments, self._bytes = {kind: int(rest)}, 0
        else:
            self._moments[kind] = int(rest)
        return kind == "done"

    def measure(self) -> Measurement:
        """Return what was measured, by the runner's own rules.

        Raises:
            TransferFailed: the transfer did not end, or not as it should.
        """
        if self._error is not None:
            raise TransferFailed(f"client: {self._error}")
        if "end" not in self._moments:
            raise TransferFailed(f"client has not ended ({self._state()})")
        is_download = isinstance(self.facts.workload, Download)
        client = self._download_report() if is_download else self._requests_report()
        connection = self.samples.connection() if self._bytes or not is_download else None
        measured = self._runner.measured(self.facts, client, connection)
        return replace(measured, path_samples=())  # `path_samples` has told them

    def congestion(self) -> Congestion:
        """Return the congestion of a connection with one path, as the server last saw it."""
        if self._multipath or self._last is None:
            return NO_CONGESTION
        threshold = self._last.ssthresh_bytes
        return Congestion(
            self._last.cwnd_bytes,
            self._last.in_flight_bytes,
            "" if threshold is None else threshold,
            f"{self._last.smoothed_rtt_ms:.3f}",
        )

    def path_samples(self) -> Sequence[PathSample]:
        """Return no samples, as it has one path."""
        return ()

    def close(self) -> None:
        """Close the file `tcp-info.csv`, if there is one."""
        if self._info is not None:
            self._info.close()

    def since_begin(self, moment: int) -> float:
        """Return a time in s since time zero of the legs, when the client began to connect."""
        return (moment - self.facts.begin_ns) / NS_PER_S

    def _download_report(self) -> dict[str, Any]:
        """Return a report of a download as curl makes it, and its start behind earlier ones."""
        names = {
            "connected": "connect_s",
            "handshake": "handshake_s",
            "first": "first_byte_s",
            "end": "completion_s",
        }
        earlier = self.facts.earlier_downloads
        began = self._moments["begin"] if earlier else self.facts.begin_ns
        times = {
            name: (self._moments[kind] - began) / NS_PER_S
            for kind, name in names.items()
            if kind in self._moments
        }
        started = {"started_s": self.since_begin(began)} if earlier else {}
        return {"bytes": self._bytes, **times, **started}

    def _requests_report(self) -> dict[str, Any]:
        handshake = self._moments.get("handshake")
        handshake_s = None if handshake is None else self.since_begin(handshake)
        outcome = Outcome(bytes_received=self._bytes, handshake_s=handshake_s)
        sent, answered = self._times.values()
        requests = [(sent_s, answered.get(number)) for number, sent_s in sent.items()]
        return {**asdict(outcome), "requests": requests}

    def _state(self) -> str:
        """Return in words how far the transfer came."""
        for kind, words in (("first", "in its answer"), ("handshake", "before its answer")):
            if kind in self._moments:
                return words
        return "in its handshake" if "connected" in self._moments else "not connected"


def _traffic(workload: Workload, tls: TlsVersion) -> dict[str, Any]:
    """Return the orders for a workload; each full DATA frame takes two records of TLS."""
    record = RECORD[tls]
    frame = FRAME + 2 * record
    if isinstance(workload, Download):
        return {
            "is_download": True,
            "count": 1,
            "duration": round((workload.duration_s or 0) * NS_PER_S),
            "request": (FIRST_REQUEST[tls], 0, BLOCK_BYTES, 0),
            "answer": (FIRST_ANSWER[tls], workload.requested_bytes, BLOCK_BYTES, frame),
        }
    assert isinstance(workload, RequestResponse)  # the agent carries no other
    return {
        "count": workload.requests,
        "interval": round(workload.interval_s * NS_PER_S),
        "patience": round(workload.patience_s * NS_PER_S),
        "request": (REQUEST_HEAD, workload.request_bytes, BLOCK_BYTES, FRAME + record),
        "answer": (ANSWER_HEAD + record, workload.response_bytes, BLOCK_BYTES, frame),
    }
