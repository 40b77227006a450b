"""The receiving entity against a naive transcription of clause 5.2.2, on random arrivals."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.pdcp import Delivery, Pdu, ReceivingEntity, Timer, sn_format

# How long an example takes depends on what else the machine does.
untimed = settings(deadline=None)


@dataclass
class Model:
    """Clause 5.2.2 word by word, slow. SDUs are ints."""

    bits: int
    t_reordering: int | None
    delivery: Delivery
    first: int
    rx_next: int = 0
    rx_deliv: int = 0
    rx_reord: int = 0
    timer_started: int | None = None
    buffer: dict[int, int] = field(default_factory=dict)
    received: set[int] = field(default_factory=set)
    delivered: list[int] = field(default_factory=list)  # COUNTs
    ready: list[int] = field(default_factory=list)  # SDUs
    duplicates: int = 0
    old: int = 0
    expiries: int = 0

    def __post_init__(self) -> None:
        self.rx_next = self.rx_deliv = self.rx_reord = self.first

    def timer_end(self) -> int | None:
        if self.timer_started is None or self.t_reordering is None:
            return None
        return self.timer_started + self.t_reordering

    def poll(self, now: int) -> list[int]:
        while (end := self.timer_end()) is not None and end <= now:
            self.expire(end)
        ready, self.ready = self.ready, []
        return ready

    def push(self, rcvd_sn: int, sdu: int, now: int) -> bool:
        window_size = 2 ** (self.bits - 1)
        hfn, sn = divmod(self.rx_deliv, 2**self.bits)
        if rcvd_sn < sn - window_size:
            rcvd_hfn = hfn + 1
        elif rcvd_sn >= sn + window_size:
            rcvd_hfn = hfn - 1
        else:
            rcvd_hfn = hfn
        rcvd_count = rcvd_hfn * 2**self.bits + rcvd_sn
        if rcvd_count < self.rx_deliv or rcvd_count in self.received:
            self.count_discard(rcvd_count)
            return False
        self.received.add(rcvd_count)
        self.buffer[rcvd_count] = sdu
        if rcvd_count >= self.rx_next:
            self.rx_next = rcvd_count + 1
        if self.delivery == "out-of-order":
            self.deliver(rcvd_count)
        if rcvd_count == self.rx_deliv:
            self.deliver_consecutive(self.rx_deliv)
            self.rx_deliv = self.first_not_delivered(self.rx_deliv)
        if self.timer_started is not None and self.rx_deliv >= self.rx_reord:
            self.timer_started = None
        self.start_timer_if_needed(now)
        return True

    def expire(self, now: int) -> None:
        self.timer_started = None
        self.expiries += 1
        for count in sorted(self.buffer):
            if count < self.rx_reord:
                self.deliver(count)
        self.deliver_consecutive(self.rx_reord)
        self.rx_deliv = self.first_not_delivered(self.rx_reord)
        self.start_timer_if_needed(now)

    def start_timer_if_needed(self, now: int) -> None:
        if self.timer_started is None and self.rx_deliv < self.rx_next:
            self.rx_reord = self.rx_next
            self.timer_started = now

    def deliver_consecutive(self, count: int) -> None:
        while count in self.buffer:
            self.deliver(count)
            count += 1

    def deliver(self, count: int) -> None:
        self.ready.append(self.buffer.pop(count))
        self.delivered.append(count)

    def first_not_delivered(self, count: int) -> int:
        while count in self.delivered:
            count += 1
        return count

    def count_discard(self, count: int) -> None:
        if count in self.received:
            self.duplicates += 1
        else:
            self.old += 1
            if count >= self.first:
                self.received.add(count)


@dataclass(frozen=True)
class Setting:
    """One receiving entity, and the COUNT that the transmitter starts with."""

    bits: int
    t_reordering: int | None
    delivery: Delivery
    first: int

    def entity(self) -> ReceivingEntity[int]:
        return ReceivingEntity(
            sn_format(self.bits),
            t_reordering=Timer(self.t_reordering),
            delivery=self.delivery,
            legs=1,
            first_count=self.first,
        )

    def model(self) -> Model:
        return Model(self.bits, self.t_reordering, self.delivery, self.first)


@st.composite
def settings_of(draw: st.DrawFn, *deliveries: Delivery) -> Setting:
    bits = draw(st.sampled_from([12, 16, 18]))
    hfn = draw(st.integers(0, 3))
    sn = draw(st.sampled_from([0, 1, 2 ** (bits - 1) - 2, 2**bits - 8, 2**bits - 1]))
    return Setting(
        bits=bits,
        t_reordering=draw(st.sampled_from((None, 0, 1, 10, 100))),
        delivery=draw(st.sampled_from(deliveries)),
        first=hfn * 2**bits + sn,
    )


# A PDU's time after the one before (ns) and its distance from the newest so far: the next, a gap,
# a late one, a copy; with `edges`, now and then one half the SN space away, where windows end.
times = st.sampled_from([0, 1, 1, 5, 10, 40, 100, 250])
near = st.just(1) | st.integers(-6, 6)
edges = st.tuples(st.sampled_from([-1, 1]), st.integers(-3, 3))
Distances = list[tuple[int, int | tuple[int, int]]]
all_steps = st.lists(st.tuples(times, near | near | near | edges), max_size=60)


def arrivals(setting: Setting, steps: Distances) -> list[tuple[int, int, int]]:
    """(time, COUNT, SN) of each step."""
    now, newest = 0, setting.first - 1
    result = []
    for later, distance in steps:
        now += later
        if isinstance(distance, tuple):
            sign, offset = distance
            count = newest + sign * 2 ** (setting.bits - 1) + offset
        else:
            count = newest + distance
            newest = max(newest, count)
        result.append((now, count, count % 2**setting.bits))
    return result


@settings(untimed, max_examples=50)
@given(settings_of("in-order", "out-of-order"), all_steps)
def test_the_entity_does_what_the_clause_says(setting: Setting, steps: Distances) -> None:
    entity, model = setting.entity(), setting.model()
    for sdu, (now, _, sn) in enumerate(arrivals(setting, steps)):
        assert entity.poll(now) == model.poll(now)
        assert entity.push(Pdu(sdu, leg=0, sn=sn), now) == model.push(sn, sdu, now)
        assert entity.poll(now) == model.poll(now)
        assert entity.rx_deliv == model.rx_deliv
        assert entity.rx_next == model.rx_next
        assert entity.rx_reord == model.rx_reord
        assert entity.next_timeout() == model.timer_end()
        statistics = entity.statistics()
        assert statistics.delivered == len(model.delivered)
        assert statistics.buffered == len(model.buffer)
        assert statistics.t_reordering_expiries == model.expiries
        assert statistics.duplicates == model.duplicates
        assert statistics.old == model.old
        below = model.rx_deliv - model.first
        delivered_below = sum(count < model.rx_deliv for count in model.delivered)
        assert statistics.missing == below - delivered_below


@untimed
@given(settings_of("in-order", "out-of-order", "off"), all_steps, st.data())
def test_what_is_delivered_does_not_depend_on_polls(
    setting: Setting, steps: Distances, data: st.DataObject
) -> None:
    polled, quiet = setting.entity(), setting.entity()
    delivered: list[int] = []
    now = 0
    for sdu, (now, _, sn) in enumerate(arrivals(setting, steps)):
        assert polled.push(Pdu(sdu, leg=0, sn=sn), now) == quiet.push(Pdu(sdu, leg=0, sn=sn), now)
        if data.draw(st.booleans()):
            delivered += polled.poll(now)
    delivered += polled.poll(now + 1000)
    assert quiet.poll(now + 1000) == delivered
    assert quiet.statistics() == polled.statistics()


@untimed
@given(settings_of("in-order", "out-of-order", "off"), all_steps)
def test_every_pdu_is_accounted_for(setting: Setting, steps: Distances) -> None:
    entity = setting.entity()
    delivered = 0
    now = 0
    for now, _, sn in arrivals(setting, steps):
        entity.push(Pdu(0, leg=0, sn=sn), now)
        delivered += len(entity.poll(now))
    statistics = entity.statistics()
    assert statistics.delivered == delivered
    fates = delivered + statistics.buffered + statistics.duplicates + statistics.old
    assert sum(statistics.pdus) == fates == len(steps)
