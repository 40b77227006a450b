"""Settings of a bearer's PDCP, and the entities that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from pydantic import ModelWrapValidatorHandler, model_validator

from minitopo_dc.pdcp import (
    LegFailures,
    LegState,
    ReceivingEntity,
    Recovery,
    ReportMaker,
    SduBuffer,
    SelectiveDuplication,
    SplitPolicy,
    Timer,
    TransmittingEntity,
    make_policy,
    policy_names,
    policy_needs,
    sn_format,
)
from minitopo_dc.plugins import load_entry_points
from minitopo_dc.settings.base import not_given
from minitopo_dc.settings.defaults import REPORT_MS
from minitopo_dc.settings.pdcp_fields import PdcpFields
from minitopo_dc.units import NS_PER_MS

Receiver = TypeVar("Receiver")
SPLIT_POLICIES = "minitopo_dc.split_policies"
"""The entry points that may register split policies."""


class Pdcp(PdcpFields):
    """PDCP parameters of a bearer, and its split when sent, its reordering when received."""

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_needs(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Fill in reports and flow control where the split policy or another field needs them."""
        if not isinstance(values, dict):
            return handler(values)
        split = values.get("split")
        needs = _needs(split) if isinstance(split, str) else frozenset()
        filled: dict[str, Any] = {}
        if "reports" in needs or _asks_reports(values):
            filled["report_ms"] = REPORT_MS
        if "flow_control" in needs:
            filled["flow_control"] = {}
        filled = {name: value for name, value in filled.items() if values.get(name) is None}
        return not_given(handler(values | filled), filled)

    def policy(self, legs: int) -> SplitPolicy:
        """Return the split policy for a bearer over `legs` legs.

        Raises:
            PolicyError: the policy cannot be made.
        """
        _load_policy(self.split)
        parameters = dict(self.parameters)
        if self.split == "batch":
            parameters |= {"batch": self.batch, "ratio": self.ratio}
        return make_policy(self.split, legs=legs, **parameters)

    def transmitter(
        self, legs: int, states: Sequence[LegState] = (), *, queue_packets: int | None = None
    ) -> TransmittingEntity[Any]:
        """Return a transmitting entity for a bearer over `legs` legs.

        Args:
            legs: the number of legs.
            states: the legs themselves, where they can be seen.
            queue_packets: the packets that the legs' queues hold together; None: any number.

        Raises:
            PolicyError: legs have to be seen, and `states` has not one for each.
        """
        numbers = sn_format(self.sn_bits)
        discard_timer = Timer.discard(self.discard_timer_ms).ns
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
            failures=self._leg_failures(legs),
        )

    def _leg_failures(self, legs: int) -> LegFailures | None:
        if self.leg_failure_ms is None or self.report_ms is None:
            return None
        after, interval = (round(ms * NS_PER_MS) for ms in (self.leg_failure_ms, self.report_ms))
        return LegFailures(legs, after=after, interval=interval)

    def receiver(self, legs: int) -> ReceivingEntity[Any]:
        """Return a receiving entity for a bearer over `legs` legs."""
        return self.receiver_of(ReceivingEntity, legs)

    def receiver_of(self, kind: Callable[..., Receiver], legs: int) -> Receiver:
        """Return the same of a class that takes what `ReceivingEntity` takes."""
        return kind(
            sn_format(self.sn_bits),
            t_reordering=Timer.t_reordering(self.t_reordering_ms),
            delivery=self.delivery,
            legs=legs,
            legs_keep_order=self.legs_keep_order,
        )

    def report_maker(
        self, entity: Any, legs: int, *, make: type[ReportMaker] = ReportMaker
    ) -> ReportMaker | None:
        """Return what makes the reports of a receiving entity; None without `report_ms`."""
        if self.report_ms is None:
            return None
        interval = round(self.report_ms * NS_PER_MS)
        return make(
            entity,
            sn_format(self.sn_bits),
            legs=legs,
            interval=interval,
            with_status=self.data_recovery,
        )


def _load_policy(name: str) -> None:
    """Load the entry points that may register a policy, if none has this name yet."""
    if name not in policy_names():
        load_entry_points(SPLIT_POLICIES)


def _needs(split: str) -> frozenset[str]:
    _load_policy(split)
    return policy_needs(split)


def _asks_reports(values: Mapping[str, Any]) -> bool:
    """Return whether a field other than the split needs the receiver's reports."""
    duplication = values.get("duplication")
    by_loss = isinstance(duplication, Mapping) and duplication.get("loss_percent") is not None
    return by_loss or bool(values.get("data_recovery")) or values.get("leg_failure_ms") is not None
