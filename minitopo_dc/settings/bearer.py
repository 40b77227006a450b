"""Settings of a bearer: its traffic, its split when sent, its reordering when received."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    IPvAnyNetwork,
    NonNegativeFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from minitopo_dc.pdcp import (
    ADAPTIVE,
    AdaptiveTReordering,
    LegQueue,
    PolicyError,
    ReceivingEntity,
    Recovery,
    ReportMaker,
    SduBuffer,
    SelectiveDuplication,
    SplitPolicy,
    TransmittingEntity,
    check_discard_timer,
    check_t_reordering,
    make_policy,
    needs_flow_control,
    needs_reports,
    policy_names,
    sn_format,
)
from minitopo_dc.plugins import load_entry_points
from minitopo_dc.settings.base import Settings
from minitopo_dc.settings.duplication import DuplicationSettings
from minitopo_dc.settings.flow_control import FlowControlSettings
from minitopo_dc.units import NS_PER_MS

IpVersion = Literal[4, 6]
SPLIT_POLICIES = "minitopo_dc.split_policies"
"""The entry points that may register split policies."""
Port = Field(default=None, ge=1, le=65535)


class Match(Settings):
    """Which packets belong to a bearer; what is left out matches everything."""

    source: IPvAnyNetwork | None = None
    destination: IPvAnyNetwork | None = None
    """IPv4 or IPv6 networks, both of one version."""
    protocol: Literal["tcp", "udp", "icmp"] | None = None
    source_port: int | None = Port
    destination_port: int | None = Port

    @model_validator(mode="after")
    def _ports_have_a_protocol(self) -> Self:
        ports = self.source_port is not None or self.destination_port is not None
        if ports and self.protocol not in ("tcp", "udp"):
            raise ValueError("a port needs protocol: tcp or udp")
        return self

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        if self.source and self.destination and self.source.version != self.destination.version:
            raise ValueError(
                f"source {self.source} and destination {self.destination}: "
                "allowed are two IPv4 networks or two IPv6 networks"
            )
        return self

    @property
    def ip_version(self) -> IpVersion | None:
        """The version of its networks; None when it has none and matches both versions."""
        network = self.source or self.destination
        return None if network is None else network.version


ReportInterval = Annotated[float, Field(ge=1)]


def _is(default: object) -> Callable[[object], bool]:
    """Whether a field has its default: then files leave it out, and stay as they always were."""
    return lambda value: value == default


class PdcpSettings(Settings):
    """PDCP parameters of a bearer; the defaults are those of the DC papers (thesis, table 4.3)."""

    split: str = "batch"
    """Split policy: one of `policy_names()`, also one registered by the user.

    In a scenario `duplicate` is chosen by mode `dc-duplicate`, not here.
    """
    batch: PositiveInt = 100
    """Packets of one cycle over all legs (policy `batch`)."""
    ratio: tuple[float, ...] | None = None
    """Shares of the legs in a cycle, one per leg (policy `batch`); none = equal."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters of a policy other than `batch`."""
    sn_bits: Literal[12, 16, 18] = 18
    """Bits of the sequence number: 12 or 18 of TS 38.323, or the papers' plain 16.

    18 by default: the window of 12 bits (2,048 PDUs) is shorter than 200 ms at 25,000 PDU/s.
    """
    t_reordering_ms: NonNegativeFloat | Literal["infinity", "adaptive"] = 200.0
    """A value of TS 38.331; or `adaptive`, beyond the standard: what the receiver sees to do."""
    delivery: Literal["in-order", "out-of-order", "off"] = "in-order"
    """`out-of-order` = outOfOrderDelivery of TS 38.323; `off` = no reordering at all."""
    # Left out of files when there is none, so that those of runs without reports stay as they are.
    report_ms: ReportInterval | None = Field(default=None, exclude_if=lambda value: value is None)
    """How often the bearer's receiver reports what came by each leg; none: never.

    At least 1 ms: a slot of 15 kHz (TS 38.211), and less would keep the element from its packets.
    """
    legs: tuple[PositiveInt, ...] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """The numbers of the legs that the bearer uses, the primary one first; none: all of them.

    `ratio` has one share for each. An element's bearer has `legs` of its own instead.
    """

    @field_validator("legs")
    @classmethod
    def _several_legs(cls, legs: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if legs is not None and (len(legs) < 2 or len(set(legs)) != len(legs)):
            named = ", ".join(map(str, legs)) or "none"
            raise ValueError(f"{named}; name at least two legs, each once")
        return legs

    numbering: Literal["early", "late"] = Field(default="early", exclude_if=_is("early"))
    """When an SDU gets its COUNT: as it comes (the papers), or when a leg takes it.

    TS 38.323 clause 5.2.1 leaves the moment open; late, what is dropped never had a number.
    """
    buffer_packets: PositiveInt | None = Field(default=None, exclude_if=_is(None))
    """SDUs that may wait for a number or in the legs' queues; none: as many as these hold together.

    So the whole buffer is the same with early and with late numbering.
    """
    discard_timer_ms: float | Literal["infinity"] = Field(
        default="infinity", exclude_if=_is("infinity")
    )
    """discardTimer: an SDU that waits so long is dropped. TS 38.331: infinity unless configured."""
    flow_control: FlowControlSettings | None = Field(default=None, exclude_if=_is(None))
    """How the legs' nodes tell what they want, over a backhaul; none: legs are beside the split."""

    @field_validator("discard_timer_ms")
    @classmethod
    def _standard_timer(cls, value: float | Literal["infinity"]) -> float | Literal["infinity"]:
        check_discard_timer(value)
        return value

    @model_validator(mode="after")
    def _something_waits(self) -> Self:
        late = self.numbering == "late"
        if self.buffer_packets is not None and not late:
            raise ValueError("buffer_packets: needs numbering: late, else nothing waits")
        if self.discard_timer_ms != "infinity" and not (late or self.data_recovery):
            raise ValueError(
                "discard_timer_ms: needs numbering: late or data_recovery: true, else nothing waits"
            )
        return self

    @property
    def follows_legs(self) -> bool:
        """Whether a transmitting entity has to know how far its legs are."""
        return self.numbering == "late" or self.data_recovery or self.flow_control is not None

    duplication: DuplicationSettings | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """Which packets go on all legs, whatever the split policy says; none: none."""

    @model_validator(mode="after")
    def _duplication_fits(self) -> Self:
        if self.duplication is None:
            return self
        if self.split == "duplicate":
            raise ValueError("duplication: split duplicate puts every packet on all legs already")
        if self.duplication.loss_percent is not None and self.report_ms is None:
            raise ValueError("duplication.loss_percent: needs reports; give report_ms")
        return self

    # Left out of files like the above: files of runs without them stay as they are.
    legs_keep_order: bool = Field(default=False, exclude_if=lambda value: not value)
    """Each leg delivers in order: what every leg has passed is lost, and given up at once.

    Beyond the standard, whose receiver knows of no legs.
    """
    data_recovery: bool = Field(default=False, exclude_if=lambda value: not value)
    """Reports carry a PDCP status report, for data recovery (TS 38.323 clauses 5.4.1, 5.5)."""

    @field_validator("t_reordering_ms")
    @classmethod
    def _standard_value(cls, value: float | str) -> float | str:
        if value != ADAPTIVE:
            check_t_reordering(value)
        return value

    @model_validator(mode="after")
    def _recovery_has_reports(self) -> Self:
        if self.data_recovery and self.report_ms is None:
            raise ValueError("data_recovery: the receiver reports what it misses; needs report_ms")
        if self.data_recovery and self.delivery == "off":
            raise ValueError(
                "data_recovery: delivery off does not know what is missing; "
                "allowed: in-order, out-of-order"
            )
        return self

    def policy(self, legs: int) -> SplitPolicy:
        """Return the split policy for a bearer over `legs` legs.

        Raises:
            PolicyError: it cannot be made, or needs what the bearer has not.
        """
        if self.split not in policy_names():
            load_entry_points(SPLIT_POLICIES)
        parameters = dict(self.parameters)
        if self.split == "batch":
            parameters |= {"batch": self.batch, "ratio": self.ratio}
        policy = make_policy(self.split, legs=legs, **parameters)
        if needs_reports(policy) and self.report_ms is None:
            raise PolicyError(f"split policy {self.split!r} needs reports; give report_ms, e.g. 20")
        if needs_flow_control(policy) and self.flow_control is None:
            raise PolicyError(f"split policy {self.split!r} needs pdcp.flow_control")
        return policy

    def transmitter(
        self, legs: int, states: Sequence[LegQueue] = (), *, queue_packets: int | None = None
    ) -> TransmittingEntity[Any]:
        """Return a transmitting entity for a bearer over `legs` legs.

        Args:
            legs: their number.
            states: the legs themselves, where they can be seen.
            queue_packets: what their queues hold together, None: any number.

        Raises:
            PolicyError: legs have to be seen, and `states` has not one for each.
        """
        numbers = sn_format(self.sn_bits)
        discard_timer = check_discard_timer(self.discard_timer_ms)
        return TransmittingEntity(
            numbers,
            self.policy(legs),
            legs=legs,
            states=states,
            reports=self.report_ms is not None,
            waiting=SduBuffer(self.buffer_packets or queue_packets, discard_timer)
            if self.numbering == "late"
            else None,
            flow_control=() if self.flow_control is None else self.flow_control.of_legs(legs),
            duplication=None
            if self.duplication is None
            else SelectiveDuplication(self.duplication.rule(), legs),
            recovery=Recovery(legs, most=numbers.modulus // 2, discard_timer=discard_timer)
            if self.data_recovery
            else None,
        )

    def receiver(self, legs: int) -> ReceivingEntity[Any]:
        """Return a receiving entity for a bearer over `legs` legs."""
        return ReceivingEntity(
            sn_format(self.sn_bits),
            t_reordering=self._t_reordering(legs),
            delivery=self.delivery,
            legs=legs,
            legs_keep_order=self.legs_keep_order,
        )

    def _t_reordering(self, legs: int) -> int | AdaptiveTReordering | None:
        if self.t_reordering_ms == ADAPTIVE:
            return AdaptiveTReordering(legs)
        return check_t_reordering(self.t_reordering_ms)

    def report_maker(self, entity: ReceivingEntity[Any], legs: int) -> ReportMaker | None:
        """Return what makes the reports of a receiving entity; None without `report_ms`."""
        if self.report_ms is None:
            return None
        interval = round(self.report_ms * NS_PER_MS)
        return ReportMaker(
            entity,
            sn_format(self.sn_bits),
            legs=legs,
            interval=interval,
            with_status=self.data_recovery,
        )
