"""The parameters of a bearer's PDCP, and the entities that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, field_validator, model_validator

from minitopo_dc.fields.base import LeftOut, Settings, core_object, given, not_given
from minitopo_dc.fields.ranges import (
    ECHO_MS,
    REPORT_MS,
    Bytes,
    Count,
    Dscp,
    Factor,
    Interval,
    Milliseconds,
    MillisecondsAbove,
    Number,
    Percent,
    Rate,
)
from minitopo_dc.pdcp import (
    INFINITE,
    SMALL_BYTES,
    DuplicationRule,
    FlowControl,
    LegFailures,
    LegQueue,
    PolicyError,
    ReceivingEntity,
    Recovery,
    ReportMaker,
    SduBuffer,
    SelectiveDuplication,
    SplitPolicy,
    Timer,
    TransmittingEntity,
    make_policy,
    policy_needs,
    sees_legs,
    sn_format,
)
from minitopo_dc.scenario.layer2 import SettingOf
from minitopo_dc.units import NS_PER_MS, UNLIMITED, QueueLimit

CONDITIONS = ("packets", "below_bytes", "dscp", "retransmissions", "loss_percent", "deadline_ms")


class DuplicationSettings(Settings):
    """The conditions for duplication: an SDU goes on all legs that are up if one of them holds."""

    packets: tuple[Literal["handshake", "ack"], ...] = ()
    """`handshake`: SYN, FIN and RST of TCP, long headers of QUIC. `ack`: pure acknowledgements of
    TCP, UDP of at most `small_bytes`."""
    small_bytes: Bytes | None = None
    """The most bytes of such an IP packet; none: `SMALL_BYTES`."""
    below_bytes: Bytes | None = None
    """IP packets smaller than this are duplicated."""
    dscp: tuple[Dscp, ...] = ()
    retransmissions: bool = False
    """TCP segments that were sent before are duplicated."""
    loss_percent: Percent | None = None
    """The leg that the split names lost more than this lately; needs reports."""
    deadline_ms: MillisecondsAbove | None = None
    """The packet is expected later than this on the leg that the split names."""

    @model_validator(mode="after")
    def _check_condition(self) -> Self:
        if self.rule() == DuplicationRule(small_bytes=self.rule().small_bytes):
            raise ValueError(f"give at least one of {', '.join(CONDITIONS)}")
        if self.small_bytes is not None and "ack" not in self.packets:
            raise ValueError("small_bytes needs packets: [ack]")
        return self

    def rule(self) -> DuplicationRule:
        """Return the duplication rule for the PDCP core."""
        return core_object(
            DuplicationRule,
            self,
            handshake="handshake" in self.packets,
            ack="ack" in self.packets,
            small_bytes=self.small_bytes or SMALL_BYTES,
            dscp=frozenset(self.dscp),
        )


TReordering = Annotated[Timer, SettingOf(Timer.t_reordering, Milliseconds, "infinity", "adaptive")]
DiscardTimer = Annotated[Timer, SettingOf(Timer.discard, Milliseconds, "infinity")]


class FlowControlSettings(Settings):
    """DL DATA DELIVERY STATUS of TS 38.425 from each leg's node, over a backhaul (Xn).

    The backhaul's values are one for all legs, or one per leg of the bearer. By default the leg is
    at the node that splits. TR 36.932 table 6.1-1 has typical delays of non-ideal backhauls: 2 to
    5 ms (fibre) up to 60 ms (DSL), with 10 Mbit/s to 10 Gbit/s.
    """

    interval_ms: Interval = 5.0
    """The time from one status to the next, at least a slot of 1 ms. TS 38.425 leaves it to the
    node that polls; 5 ms is this project's choice, a quarter of the papers' round trip. A node is
    polled at most so often, when its leg's credit is used up."""
    status_bytes: LeftOut[Bytes | None] = None
    """A status is sent whenever a leg has sent so many bytes since the latest one, too; none: not
    so."""
    desired_ms: MillisecondsAbove | tuple[MillisecondsAbove, ...] | None = None
    """What a node wants to have, in ms of its leg's rate, one value or one per leg; none: what a
    status and its answer take, `interval_ms` + 2 (`backhaul_ms` + `jitter_ms`) + 2 ms."""
    backhaul_ms: Milliseconds | tuple[Milliseconds, ...] = 0.0
    """The one-way delay of PDUs and statuses."""
    jitter_ms: LeftOut[Milliseconds | tuple[Milliseconds, ...]] = 0.0
    """What the backhaul takes beyond `backhaul_ms` at most, uniform; the order is kept."""
    rate_mbps: LeftOut[Rate | tuple[Rate, ...] | None] = None
    """The rate of the backhaul, in each direction; none: no limit."""
    loss_percent: LeftOut[Percent | tuple[Percent, ...]] = 0.0
    """The share of frames, with PDUs or statuses, that the backhaul loses."""

    def of_legs(
        self, legs: int, seeds: Sequence[str] = (), queues: Sequence[QueueLimit] = ()
    ) -> tuple[FlowControl, ...]:
        """Return a flow control for each of a bearer's `legs` legs.

        Args:
            legs: their number.
            seeds: of jitter and loss, one per leg; none: the numbers of the legs.
            queues: the limit of each leg's queue; none: there are none.

        Raises:
            PolicyError: a field has not as many values as there are legs.
        """
        of_each = [
            self._per_leg(name, legs)
            for name in ("desired_ms", "backhaul_ms", "jitter_ms", "rate_mbps", "loss_percent")
        ]
        own = (seeds or map(str, range(legs)), queues or (UNLIMITED,) * legs)
        return tuple(
            FlowControl(
                interval=round(self.interval_ms * NS_PER_MS),
                delay=round(delay * NS_PER_MS),
                desired=None if desired is None else round(desired * NS_PER_MS),
                status_bytes=self.status_bytes,
                jitter=round(jitter * NS_PER_MS),
                rate_bps=None if rate is None else round(rate * 1_000_000),
                loss=loss / 100,
                seed=seed,
                queue=queue,
            )
            for desired, delay, jitter, rate, loss, seed, queue in zip(*of_each, *own, strict=True)
        )

    def _per_leg(self, name: str, legs: int) -> tuple[Any, ...]:
        value = getattr(self, name)
        values = value if isinstance(value, tuple) else (value,) * legs
        if len(values) != legs:
            raise PolicyError(
                f"flow_control.{name}: {len(values)} values, must be one, or one for each of "
                f"{legs} legs"
            )
        return values


class Pdcp(Settings):
    """PDCP parameters of a bearer; the defaults are those of the DC papers (thesis, table 4.3).

    They make its split where it is sent, and its reordering where it is received.
    """

    split: str = "batch"
    """Split policy: one of `policy_names()`, also one registered by the user.

    In a scenario `duplicate` is chosen by mode `dc-duplicate`, not here.
    """
    batch: Count = 100
    """The packets of one cycle over all legs (policy `batch`)."""
    ratio: tuple[Factor, ...] | None = None
    """Shares of the legs in a cycle, one per leg (policy `batch`); none = equal."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters of a policy other than `batch`."""
    sn_bits: Literal[12, 16, 18] = 18
    """The bits of the sequence number: 12 or 18 of TS 38.323, or the papers' plain 16. 18 by
    default: the window of 12 bits (2,048 PDUs) is shorter than 200 ms at 25,000 PDU/s."""
    t_reordering_ms: TReordering = Timer(200 * NS_PER_MS)
    """A value of TS 38.331; or `adaptive`, beyond the standard: what the receiver sees to do."""
    delivery: Literal["in-order", "out-of-order", "off"] = "in-order"
    """`out-of-order` = outOfOrderDelivery of TS 38.323; `off` = no reordering at all."""
    report_ms: LeftOut[Interval | None] = None
    """How often the bearer's receiver reports what came by each leg; none: `REPORT_MS` where the
    split policy or another field needs reports, else never.

    At least 1 ms: a slot of 15 kHz (TS 38.211), and less would keep the element from its packets.
    """
    echo_ms: LeftOut[Interval | None] = None
    """How often an echo measures the round-trip time of each leg; none: `ECHO_MS` where the split
    policy is a steering mode, else never."""
    legs: LeftOut[tuple[Number, ...] | None] = None
    """The numbers of the legs that the bearer uses, the primary one first; none: all of them, the
    scenario's `primary_leg` first.

    `ratio` has one share for each. An element's bearer has `legs` of its own instead.
    """
    numbering: LeftOut[Literal["early", "late"]] = "early"
    """When an SDU gets its COUNT: as it comes (the papers), or when a leg takes it.

    TS 38.323 clause 5.2.1 leaves the moment open; late, what is dropped never had a number.
    """
    buffer_packets: LeftOut[Count | None] = None
    """SDUs that may wait for a number or in the legs' queues; none: as many, or as many bytes, as
    these hold together, whatever their unit. What is on a backhaul does not wait.

    So the whole buffer is the same with early and with late numbering.
    """
    discard_timer_ms: LeftOut[DiscardTimer] = INFINITE
    """discardTimer: an SDU that waits so long is dropped. TS 38.331: infinity unless configured."""
    flow_control: LeftOut[FlowControlSettings | None] = None
    """How the legs' nodes tell what they want, over a backhaul; none: with its defaults where the
    split policy needs it, else the legs are at the node that splits."""
    duplication: LeftOut[DuplicationSettings | None] = None
    """Which packets go on all legs, whatever the split policy says; none: no packet does."""
    legs_keep_order: LeftOut[bool] = False
    """Each leg delivers in order: what every leg has passed is lost, and given up at once.

    Beyond the standard, whose receiver knows of no legs.
    """
    data_recovery: LeftOut[bool] = False
    """Reports carry a PDCP status report, for data recovery (TS 38.323 clauses 5.4.1, 5.5)."""
    leg_failure_ms: LeftOut[Interval | None] = None
    """The time without any PDU on a leg that should have some, by the reports, after which it has
    failed and counts as down. None: failures are not detected, as in the papers. At least
    `report_ms`."""
    mark_above_ms: LeftOut[MillisecondsAbove | None] = None
    """SDUs with ECT are marked where they are split, when their leg is expected to take longer for
    what waits before them; none: only the legs' queues mark."""

    @field_validator("legs")
    @classmethod
    def _check_leg_count(cls, legs: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if legs is not None and (len(legs) < 2 or len(set(legs)) != len(legs)):
            named = ", ".join(map(str, legs)) or "none"
            raise ValueError(f"{named}; name at least two legs, each once")
        return legs

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        waits = self.numbering == "late" or self.flow_control is not None
        if self.buffer_packets is not None and not waits:
            raise ValueError(
                "buffer_packets: needs numbering: late or flow_control, else nothing waits"
            )
        if self.discard_timer_ms != INFINITE and not (waits or self.data_recovery):
            raise ValueError(
                "discard_timer_ms: needs numbering: late, flow_control or data_recovery: true, "
                "else nothing waits"
            )
        if self.duplication is not None and self.split == "duplicate":
            raise ValueError("duplication: split duplicate puts every packet on all legs already")
        if self.data_recovery and self.delivery == "off":
            raise ValueError(
                "data_recovery: delivery off does not know what is missing; "
                "allowed: in-order, out-of-order"
            )
        if self.leg_failure_ms and self.report_ms and self.leg_failure_ms < self.report_ms:
            raise ValueError(
                f"leg_failure_ms: {self.leg_failure_ms:g}; "
                f"allowed: report_ms ({self.report_ms:g}) or more"
            )
        if self.echo_ms is not None and "echoes" not in policy_needs(self.split or ""):
            raise ValueError(f"echo_ms: split {self.split} makes no use of echoes; allowed: none")
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_needs(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Fill in reports, echoes and flow control where the split or another field needs them."""
        if not isinstance(values, dict):
            return handler(values)
        split, duplication = values.get("split"), values.get("duplication")
        needs = set(policy_needs(split)) if isinstance(split, str) else set()
        rule = given(duplication) if isinstance(duplication, Settings) else duplication
        by_loss = isinstance(rule, Mapping) and rule.get("loss_percent") is not None
        if by_loss or values.get("data_recovery") or values.get("leg_failure_ms") is not None:
            needs.add("reports")
        usual = {
            "report_ms": ("reports", REPORT_MS),
            "flow_control": ("flow_control", {}),
            "echo_ms": ("echoes", ECHO_MS),
        }
        filled = {
            name: value
            for name, (need, value) in usual.items()
            if need in needs and values.get(name) is None
        }
        return not_given(handler(values | filled), filled)

    def policy(self, legs: int) -> SplitPolicy:
        """Return the split policy for a bearer over `legs` legs.

        Raises:
            PolicyError: the policy cannot be made.
        """
        parameters = dict(self.parameters)
        if self.split == "batch":
            parameters |= {"batch": self.batch, "ratio": self.ratio}
        return make_policy(self.split, legs=legs, **parameters)

    def transmitter(
        self,
        legs: int,
        states: Sequence[LegQueue] = (),
        *,
        buffer_limit: QueueLimit = UNLIMITED,
        flow_control: Sequence[FlowControl] = (),
        make: Callable[..., Any] = TransmittingEntity,
    ) -> Any:
        """Return a transmitting entity for a bearer over `legs` legs.

        Args:
            legs: the number of legs.
            states: the legs themselves, where they can be seen.
            buffer_limit: of the packets that wait for a leg, or in one's queue.
            flow_control: of each leg, where the nodes' queues are known (`ElementSettings`).
            make: takes what `TransmittingEntity` takes.

        Raises:
            PolicyError: legs have to be seen, and `states` has not one for each.
        """
        numbers = sn_format(self.sn_bits)
        discard_timer = self.discard_timer_ms.ns
        policy, failures = self.policy(legs), None
        if self.leg_failure_ms is not None and self.report_ms is not None:
            after, interval = self.leg_failure_ms * NS_PER_MS, self.report_ms * NS_PER_MS
            failures = LegFailures(legs, after=round(after), interval=round(interval))
        return make(
            numbers,
            policy,
            legs=legs,
            states=states,
            reports=self.report_ms is not None,
            waiting=SduBuffer(buffer_limit, discard_timer) if self.sdus_wait(policy) else None,
            early=self.numbering == "early",
            flow_control=flow_control
            or (() if self.flow_control is None else self.flow_control.of_legs(legs)),
            duplication=None
            if self.duplication is None
            else SelectiveDuplication(self.duplication.rule(), legs),
            recovery=Recovery(legs, most=numbers.modulus // 2, discard_timer=discard_timer)
            if self.data_recovery
            else None,
            failures=failures,
            mark_above=None
            if self.mark_above_ms is None
            else round(self.mark_above_ms * NS_PER_MS),
        )

    def sdus_wait(self, policy: SplitPolicy) -> bool:
        """Return whether SDUs wait at the node that splits until a leg takes them.

        With flow control they do even with early numbering, but for policies that do not see
        their legs: such a policy sends a batch on one while the others must not run dry.
        """
        behind = self.flow_control is not None and sees_legs(policy)
        return self.numbering == "late" or behind

    def receiver(self, legs: int, *, make: Callable[..., Any] = ReceivingEntity) -> Any:
        """Return a receiving entity for a bearer over `legs` legs.

        `make` takes what `ReceivingEntity` takes.
        """
        return make(
            sn_format(self.sn_bits),
            t_reordering=self.t_reordering_ms,
            delivery=self.delivery,
            legs=legs,
            legs_keep_order=self.legs_keep_order,
        )

    def report_maker(self, entity: Any, legs: int) -> ReportMaker | None:
        """Return what makes the reports of a receiving entity; None without `report_ms`."""
        if self.report_ms is None:
            return None
        interval = round(self.report_ms * NS_PER_MS)
        return ReportMaker(entity, legs=legs, interval=interval, with_status=self.data_recovery)

    @property
    def follows_legs(self) -> bool:
        """Return whether a transmitting entity has to follow what its legs send and deliver."""
        follows = self.numbering == "late" or self.data_recovery or self.flow_control is not None
        return follows or self.leg_failure_ms is not None
