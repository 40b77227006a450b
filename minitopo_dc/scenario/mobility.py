"""What mobility costs Dual Connectivity: RRC procedures and failures of its legs.

Each becomes outages and losses of a leg before a run, so that both clocks and both cores have it.
A leg that is down is known to be so, and PDCP may recover its data; a leg that has failed loses all
until the terminal has detected it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import model_validator

from minitopo_dc.fields.base import Settings, SettingsError
from minitopo_dc.fields.ranges import Milliseconds, Moment, Number
from minitopo_dc.scenario.change import LegChange
from minitopo_dc.scenario.leg import LegDirection
from minitopo_dc.scenario.radio import Leg, Outage

Kind = Literal["pscell_change", "scg_failure", "mcg_failure", "scg_addition"]
T310_MS = 1000.0
"""From out-of-sync to radio link failure (TS 38.331, clause 9.2.3)."""
INTERRUPTION_MS = 62.0
"""Of a change to a known cell of FR1 (TS 38.133, clause 6.1.1.2): 20 ms of processing, 20 ms of one
SMTC period, 2 ms of margin, and 20 ms to an occasion for random access."""
RECOVERY_MS = 100.0
"""From a report to a leg that carries data: the interruption, 16 ms of RRC processing (TS 38.331,
clause 12), and this project's 22 ms for the messages over the air and Xn."""
TIMES_MS: dict[Kind, tuple[float, float]] = {
    "pscell_change": (0.0, INTERRUPTION_MS),
    "scg_failure": (T310_MS, RECOVERY_MS),
    "mcg_failure": (T310_MS, RECOVERY_MS),
    "scg_addition": (0.0, RECOVERY_MS),
}
"""Of each kind: until it is detected, and until the leg carries data from then on."""
MCG_LEG = 1


class MobilityEvent(Settings):
    """A procedure of TS 37.340 or TS 38.331 at a leg of Dual Connectivity."""

    at_s: Moment
    """The time in s after the start of the transfer."""
    pscell_change: Number | None = None
    """The leg whose PSCell changes (TS 37.340, clauses 10.3 and 10.5)."""
    scg_failure: Number | None = None
    """The leg whose radio link fails, and is added again (TS 38.331, clause 5.7.3)."""
    mcg_failure: Number | None = None
    """Leg 1, whose radio link fails, and is recovered over others (TS 38.331, clause 5.7.3b)."""
    scg_addition: Number | None = None
    """The leg that is there from then on only (TS 37.340, clause 10.2)."""
    detection_ms: Milliseconds | None = None
    """How long a failed leg loses all before anybody knows, by default T310's 1,000 ms."""
    interruption_ms: Milliseconds | None = None
    """How long the leg is down from then on, by default 62 ms of a change, else 100 ms."""

    @model_validator(mode="after")
    def _is_one_event(self) -> Self:
        if len(self._named()) != 1:
            raise ValueError(f"name exactly one of {', '.join(TIMES_MS)}")
        if self.detection_ms is not None and not self.kind.endswith("failure"):
            raise ValueError(f"detection_ms: {self.kind} is no failure; allowed: none")
        if (self.kind == "mcg_failure") != (self.leg == MCG_LEG):
            allowed = "1, the MCG's" if self.kind == "mcg_failure" else "all but 1, the MCG's"
            raise ValueError(f"{self.kind}: leg {self.leg}; allowed: {allowed}")
        return self

    @property
    def kind(self) -> Kind:
        """Return which procedure it is."""
        return self._named()[0][0]

    @property
    def leg(self) -> int:
        """Return the number of its leg."""
        return self._named()[0][1]

    def _named(self) -> list[tuple[Kind, int]]:
        return [(kind, getattr(self, kind)) for kind in TIMES_MS if getattr(self, kind)]

    @property
    def detected_s(self) -> float:
        """Return when the network knows of it (s)."""
        given, usual = self.detection_ms, TIMES_MS[self.kind][0]
        return round(self.at_s + (usual if given is None else given) / 1000, 9)

    @property
    def outage(self) -> Outage:
        """Return from when to when the leg is known to be down (s)."""
        given, usual = self.interruption_ms, TIMES_MS[self.kind][1]
        end_s = self.detected_s + (usual if given is None else given) / 1000
        return (0.0 if self.kind == "scg_addition" else self.detected_s, round(end_s, 9))


def check_mobility(events: Iterable[MobilityEvent], legs: int) -> None:
    """Refuse events of legs that do not exist, with a ValueError."""
    for number, event in enumerate(events):
        if event.leg > legs:
            place = f"mobility.{number}.{event.kind}"
            raise ValueError(f"{place}: leg {event.leg} does not exist; allowed: 2 to {legs}")


def losing(leg: Leg, event: MobilityEvent) -> Leg:
    """Return a leg that loses all, both ways, until the event has been detected.

    Raises:
        SettingsError: its losses are bursts, which cannot change.
    """
    if event.detected_s == event.at_s:
        return leg
    directions = {}
    for name, radio in (("downlink", leg.downlink), ("uplink", leg.uplink)):
        if radio.burst_loss is not None:
            place = f"legs.{event.leg - 1}.{name}.burst_loss"
            raise SettingsError(f"mobility: {place}: allowed with {event.kind}: loss_percent")
        changes = _with_loss(radio, event.at_s, event.detected_s)
        directions[name] = radio.model_copy(update={"changes": changes})
    return leg.model_copy(update=directions)


def _with_loss(radio: LegDirection, begin_s: float, end_s: float) -> tuple[LegChange, ...]:
    """Return the changes of a direction that also loses all from one time to another (s)."""
    losses = [(change.at_s, change.loss_percent) for change in radio.changes]
    usual = [loss for at_s, loss in losses if loss is not None and at_s <= end_s]
    changes = {change.at_s: change for change in radio.changes}
    for at_s in {begin_s, end_s} - changes.keys():
        changes[at_s] = LegChange(at_s=at_s, loss_percent=[radio.loss_percent, *usual][-1])
    return tuple(
        change.model_copy(update={"loss_percent": 100.0}) if begin_s <= at_s < end_s else change
        for at_s, change in sorted(changes.items())
    )
