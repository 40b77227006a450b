"""Options of aioquic's congestion control, loss detection, acknowledgements and pacing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.cubic import CubicCongestionControl
from aioquic.quic.connection import QuicConnection

from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.addresses import SIMULATED
from minitopo_dc.runners.aioquic.connection import AioquicConnection
from minitopo_dc.runners.aioquic.runner import (
    BQUIC,
    MODERN,
    V43,
    AioquicOptions,
    QuicRunner,
    Tuning,
)
from minitopo_dc.runners.aioquic.tuning import (
    SAMPLES,
    RoundMonitor,
    TunedConnection,
    TunedPacer,
    make_connection,
)
from minitopo_dc.runners.base import get_runner
from tests.runners.hosts import told
from tests.runners.test_contract import TRANSFER

CLIENT, SERVER = ("10.2.1.2", 50_000), ("10.0.0.2", 4433)
DATAGRAM = 1200
MIN_RTT = 0.040


def tuning(**options: Any) -> Tuning:
    return AioquicOptions.check(options, "runner quic").tuning


def connected(ours: Tuning = MODERN, theirs: Tuning = MODERN) -> tuple[Any, Any]:
    """A client and a server behind their handshake, 10 ms apart each way."""
    configuration = QuicConfiguration(is_client=True, server_name="server.test")
    configuration.load_verify_locations(str(SIMULATED.certificate))
    client = make_connection(configuration, ours)
    other = QuicConfiguration(is_client=False)
    other.load_cert_chain(*SIMULATED)
    first = client.original_destination_connection_id
    server = make_connection(other, theirs, destination=first)
    client.connect(SERVER, now=1.0)
    for step in range(1, 8):
        pass_all(client, server, CLIENT, 1.0 + step / 50)
        pass_all(server, client, SERVER, 1.01 + step / 50)
    return client, server


def pass_all(sender: QuicConnection, receiver: QuicConnection, source: Any, now: float) -> None:
    for data, _ in sender.datagrams_to_send(now - 0.01):
        receiver.receive_datagram(data, source, now)


def packets(server: QuicConnection, count: int, now: float) -> list[bytes]:
    """So many packets with data, whatever the pacing and the window."""
    server._loss._cc.congestion_window = 10**7
    server._loss._pacer.packet_time = None
    sent: list[bytes] = []
    for _ in range(count):
        server.send_stream_data(1, bytes(1000))
        sent += [data for data, _ in server.datagrams_to_send(now)]
    assert len(sent) == count
    return sent


def acknowledgements(client: QuicConnection, arriving: list[bytes], now: float) -> int:
    """How many datagrams a client answers with at once."""
    for data in arriving:
        client.receive_datagram(data, SERVER, now)
    return len(client.datagrams_to_send(now))


def test_an_option_takes_the_place_of_the_presets() -> None:
    assert tuning(preset="v43", slow_start_exit="off") == V43.model_copy(
        update={"slow_start_exit": "off"}
    )
    assert tuning(packet_threshold=10) == Tuning(packet_threshold=10)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "v44"}, "preset: v44; allowed: 'modern', 'v43' or 'bquic'"),
        ({"slow_start_exit": False}, "False .*; allowed: 0 to 100 .*; or 'off'"),
        (
            {"loss_time_threshold": math.nan},
            "nan is not finite; allowed: 1 to 100 round-trip times",
        ),
        ({"packet_threshold": 0}, "packet_threshold: 0; allowed: 1 to .* packets"),
        ({"ack_delay_ms": 26}, "allowed: 0 to 25 ms"),
        ({"pacing_avoidance": 0}, "allowed: 0.1 to 1,000 windows"),
        ({"ack_decimation_after": 5}, "ack_decimation_after needs ack_decimation"),
    ],
)
def test_a_wrong_option_is_told_with_what_is_allowed(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        get_runner("quic").check_options(options, 4)


def test_both_programs_are_told_what_differs(tmp_path: Path) -> None:
    options = {"preset": "v43", "ack_every": 4}
    tuned = replace(TRANSFER, directory=tmp_path, options=options)
    for command in (
        get_runner("quic").server_command(tuned),
        get_runner("quic").client_command(tuned),
    ):
        read = AioquicOptions.check(told(command).options, "runner quic")
        assert read.tuning == V43.model_copy(update={"ack_every": 4})


def test_without_a_tuning_the_connection_is_aioquics() -> None:
    client, _ = connected()
    assert not isinstance(client, TunedConnection)


def monitor(increase: float) -> RoundMonitor:
    control = CubicCongestionControl(max_datagram_size=DATAGRAM)
    control.congestion_window = 100 * DATAGRAM
    return RoundMonitor(increase, control, 16 * DATAGRAM)


def exits(found: RoundMonitor, samples: list[float]) -> bool:
    """Whether slow start ends within a new round with these samples."""
    found.on_sent(found._last_sent + 100)
    found.on_acked(found._last_sent - 50)
    return any(found.is_rtt_increasing(now=0.0, rtt=rtt) for rtt in samples)


def test_slow_start_ends_in_the_round_whose_least_delay_is_too_large() -> None:
    found = monitor(1 / 8)
    assert not exits(found, [MIN_RTT] * SAMPLES)
    assert not exits(found, [0.046] * (SAMPLES - 1) + [0.0449])
    assert not exits(found, [0.046] * (SAMPLES - 1))
    assert exits(found, [0.0451] * SAMPLES)


def test_slow_start_goes_on_when_its_exit_is_off_or_the_window_small() -> None:
    found = monitor(math.inf)
    assert not exits(found, [MIN_RTT] + [10.0] * 20)
    small = monitor(1 / 8)
    small._control.congestion_window = 15 * DATAGRAM
    assert not exits(small, [MIN_RTT] * SAMPLES)
    assert not exits(small, [1.0] * SAMPLES)


def lost_after(theirs: Tuning, acknowledged_later: int) -> bool:
    """Whether a packet is lost at once when so many packets behind it have been acknowledged."""
    client, server = connected(theirs=theirs)
    now = 2.0
    sent = packets(server, acknowledged_later + 1, now)
    for data in sent[1:]:
        client.receive_datagram(data, SERVER, now + 0.01)
    client.handle_timer(now + 0.012)
    before = len(server._loss.spaces[2].sent_packets)
    for data, _ in client.datagrams_to_send(now + 0.012):
        server.receive_datagram(data, CLIENT, now + 0.02)
    return before - len(server._loss.spaces[2].sent_packets) == len(sent)


def test_the_packet_threshold_is_the_one_asked_for() -> None:
    assert lost_after(MODERN, 3)
    assert not lost_after(MODERN, 2)
    assert not lost_after(Tuning(packet_threshold=5), 4)
    assert lost_after(Tuning(packet_threshold=5), 5)
    assert not lost_after(Tuning(packet_threshold="off"), 20)


@pytest.mark.parametrize("threshold", [1.125, 1.5, 3])
def test_a_packet_is_lost_after_so_many_round_trips(threshold: float) -> None:
    client, server = connected(theirs=Tuning(loss_time_threshold=threshold, packet_threshold="off"))
    first, second = packets(server, 2, 2.0)
    del first
    client.receive_datagram(second, SERVER, 2.01)
    client.handle_timer(2.011)
    for data, _ in client.datagrams_to_send(2.011):
        server.receive_datagram(data, CLIENT, 2.021)
    recovery = server._loss
    longest = max(recovery._rtt_latest, recovery._rtt_smoothed)
    assert server._loss.spaces[2].loss_time == pytest.approx(2.0 + threshold * longest)


@pytest.mark.parametrize(("every", "answers"), [(1, 8), (2, 4), (4, 2), (9, 0)])
def test_every_nth_packet_is_acknowledged_even_when_they_come_at_once(
    every: int, answers: int
) -> None:
    client, server = connected(ours=Tuning(ack_every=every))
    assert acknowledgements(client, packets(server, 8, 2.0), 2.01) == answers


def test_an_acknowledgement_waits_no_longer_than_its_delay() -> None:
    client, server = connected(ours=Tuning(ack_every=2, ack_delay_ms=7))
    assert acknowledgements(client, packets(server, 1, 2.0), 2.01) == 0
    assert client.get_timer() == pytest.approx(2.017)


def test_what_is_out_of_order_is_acknowledged_at_once() -> None:
    client, server = connected(ours=Tuning(ack_every=10))
    one, two, three = packets(server, 3, 2.0)
    assert acknowledgements(client, [one], 2.01) == 0
    assert acknowledgements(client, [three], 2.01) == 1
    assert acknowledgements(client, [two], 2.01) == 1


@pytest.mark.parametrize(("after", "answers"), [(1, 3), (10**6, 15)])
def test_decimation_begins_after_so_many_packets(after: int, answers: int) -> None:
    client, server = connected(ours=BQUIC.model_copy(update={"ack_decimation_after": after}))
    acknowledgements(client, packets(server, 1, 2.0), 2.01)
    client.handle_timer(3.0)
    client.datagrams_to_send(3.0)
    assert acknowledgements(client, packets(server, 30, 3.0), 3.01) == answers


def test_a_decimated_acknowledgement_waits_for_a_share_of_the_round_trip() -> None:
    client, server = connected(ours=BQUIC.model_copy(update={"ack_decimation_after": 1}))
    assert acknowledgements(client, packets(server, 1, 2.0), 2.01) == 0
    assert client.get_timer() == pytest.approx(2.01 + client._loss._rtt_min / 4)


def test_pacing_has_a_gain_in_slow_start_and_another_one_after_it() -> None:
    control = CubicCongestionControl(max_datagram_size=DATAGRAM)
    pacer = TunedPacer(control, (2, 1.25), DATAGRAM)
    window, rtt = 50 * DATAGRAM, 0.05
    pacer.update_rate(window, rtt)
    assert pacer.packet_time == pytest.approx(rtt / 50 / 2)
    control.ssthresh = window
    pacer.update_rate(window, rtt)
    assert pacer.packet_time == pytest.approx(rtt / 50 / 1.25)


def test_the_program_of_an_end_has_the_options_of_its_flow(tmp_path: Path) -> None:
    options = {"preset": "bquic", "qlog": True, "max_datagram_bytes": 1350}
    transfer = replace(
        TRANSFER, options=options, directory=tmp_path, certificate=SIMULATED.certificate
    )
    runner = QuicRunner()
    connection = runner.connection(transfer, "client", lambda: 0)
    assert isinstance(connection, AioquicConnection)
    assert isinstance(connection.quic, TunedConnection)
    assert connection.quic._max_datagram_size == runner.options(transfer).max_datagram_bytes == 1350
    connection.free()
    assert (tmp_path / "qlog" / "client" / "1.qlog").exists()
