"""Split policies, which name the legs that each PDCP PDU of a bearer takes.

A policy is a class with one method. It is registered under the name that scenarios use::

    @split_policy("round-robin")
    class RoundRobin:
        def __init__(self, legs: int) -> None:
            self._turns = itertools.cycle([(leg,) for leg in range(legs)])

        def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
            return next(self._turns)

`legs` runs once per packet, so make the tuples beforehand and return one of them. Times and sizes
are keyword arguments, here and in the methods of a view, because two integers are easily swapped.

A policy that uses `views` has the class attribute `sees_legs: ClassVar[bool] = True`; other
policies get no views. Before a run such a policy is refused if its legs cannot be seen. With
`needs_reports = True` the receiver sends reports, and with `needs_flow_control = True` the legs'
nodes say what they want, both with defaults unless the bearer's settings say how. Views have both,
so that such a policy need not say that it uses views. With `needs_echoes = True` each leg is
measured by echoes, and the policy has a method `echo_answered` (`steering.SteeringPolicy`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import cycle
from operator import index
from types import MethodType
from typing import Any, Protocol, TypeVar

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.pdcp.policies.view import LegView
from minitopo_dc.registry import Registry, failure_words


def checked_number(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """Return `value` if it is a finite number from `low` to `high`.

    Raises:
        PolicyError: it is not; the message names the parameter and the range.
    """
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or not low <= value <= high:
        raise PolicyError(f"{name} is {value!r}, must be a number {_range(low, high)}")
    return float(value)


def checked_whole(name: str, value: Any, low: int, high: float = math.inf) -> int:
    """Return `value` if it is a whole number from `low` to `high`; else raise PolicyError."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise PolicyError(f"{name} is {value!r}, must be a whole number {_range(low, high)}")
    return value


def _range(low: float, high: float) -> str:
    return f">= {low:g}" if high == math.inf else f"from {low:g} to {high:g}"


NEEDS = ("reports", "flow_control", "echoes")
"""The receiver's reports, what the legs' nodes want, and measurements of legs by echoes."""
MAX_WORDS = 200
"""Characters of another's error that are quoted: one that holds a value is as long as this."""


class PolicyError(MinitopoDcError, ValueError):
    """Error: an unknown split policy, wrong parameters of one, or a leg that does not exist."""


class SplitPolicy(Protocol):
    """What the transmitting entity asks for every SDU, in order of COUNT."""

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return the legs that get the PDU of an SDU of `size` bytes at `now` (ns).

        Indexes of the bearer's legs, from 0, ascending. Several: the PDU is duplicated (TS 38.323
        clause 5.2.1). None: where SDUs wait (`LegView.may_wait`), this one does, until a leg takes
        more or another moment has come; else it is dropped with its COUNT used up, a loss to the
        receiver. A leg that does not take now is waited for with this very answer.

        Args:
            now: ns; also what the views are to be asked with.
            size: of the IP packet, without PDCP header.
            views: one per leg, in the bearer's order, always the same ones; none for a policy
                without `sees_legs`.
        """
        ...


PolicyClass = TypeVar("PolicyClass", bound=Callable[..., SplitPolicy])

_POLICIES: Registry[Callable[..., SplitPolicy]] = Registry(
    "split policy",
    "minitopo_dc.split_policies",
    (
        __name__,
        *(f"{__package__}.{it}" for it in ("best_leg", "proportional", "bandit", "steering")),
    ),
)


def split_policy(name: str) -> Callable[[PolicyClass], PolicyClass]:
    """Return a class decorator that makes a class known as split policy `name`.

    `make_policy` calls it with the number of legs and the scenario's parameters by keyword.

    Raises:
        PolicyError: the name is taken, or `legs` takes other arguments than `SplitPolicy`'s.
    """

    def register(policy: PolicyClass) -> PolicyClass:
        method = getattr(policy, "legs", None) if inspect.isclass(policy) else None
        if inspect.isfunction(method):  # else it is looked at when it is made
            _check_legs(name, method, None)
        try:
            _POLICIES.add(name, policy)
        except ValueError as error:
            raise PolicyError(str(error)) from None
        return policy

    return register


def policy_names() -> tuple[str, ...]:
    """Return the names of the registered policies, sorted.

    Raises:
        InputError: an entry point of this kind is broken.
    """
    return tuple(sorted(_POLICIES.names()))


def policy_parameters(name: str) -> tuple[str, ...]:
    """Return the names of a policy's parameters; none where there is no such policy."""
    if name not in _POLICIES.names():
        return ()
    return tuple(_signature(_POLICIES.get(name)).parameters)[1:]


def sees_legs(policy: object) -> bool:
    """Return whether a policy looks at its legs and has to be given views."""
    looks = bool(getattr(policy, "sees_legs", False))
    return looks or not needs_of(policy).isdisjoint(("reports", "flow_control"))


def needs_of(policy: object) -> frozenset[str]:
    """Return which of `NEEDS` a policy, or its class, cannot work without."""
    return frozenset(need for need in NEEDS if getattr(policy, f"needs_{need}", False))


def policy_needs(name: str) -> frozenset[str]:
    """Return which of `NEEDS` the policy of a name needs; none if it is unknown."""
    return needs_of(_POLICIES.get(name) if name in _POLICIES.names() else None)


def make_policy(name: str, /, *, legs: int, **parameters: Any) -> SplitPolicy:
    """Return a new policy of this name for a bearer with this number of legs.

    Raises:
        PolicyError: no leg, no such policy, a parameter that it does not have, a value that it
            refuses, an error of its own, or its `legs` takes other arguments than `SplitPolicy`'s.
    """
    if legs < 1:
        raise PolicyError(f"split policy {name!r}: legs is {legs}, must be at least 1")
    if name not in _POLICIES.names():
        raise PolicyError(f"no split policy {name!r}: must be one of {', '.join(policy_names())}")
    factory = _POLICIES.get(name)
    signature = _signature(factory)
    if not signature.parameters:
        takes = "it gets the number of legs: def __init__(self, legs: int)"
        raise PolicyError(f"split policy {name!r}: its constructor takes nothing; {takes}")
    try:
        signature.bind(legs, **parameters)
    except TypeError as error:
        allowed = ", ".join(policy_parameters(name)) or "none"
        raise PolicyError(f"split policy {name!r}: {error}; its parameters: {allowed}") from None
    try:
        policy = factory(legs, **parameters)
    except PolicyError as error:
        raise PolicyError(f"split policy {name!r}: {error}") from None
    except Exception as error:
        raise policy_failure(factory, error) from error
    legs_of = policy.legs
    if isinstance(legs_of, MethodType):
        _check_legs(name, legs_of.__func__, legs_of.__self__)
    else:
        _check_legs(name, legs_of)
    return policy


_ARGUMENTS: dict[str, Any] = {"now": 0, "size": 0, "views": ()}


def _check_legs(name: str, legs: Callable[..., Any], *policy: object) -> None:
    """Refuse a policy whose `legs` does not take the keywords with which it is called."""
    signature = _signature(legs)
    try:
        signature.bind(*policy, **_ARGUMENTS)
        taken = (signature.parameters.get(name) for name in _ARGUMENTS)
        if all(taker is None or taker.kind is taker.KEYWORD_ONLY for taker in taken):
            return
        fault = "now, size and views can be given by position"
    except TypeError as error:
        fault = str(error)
    raise PolicyError(
        f"split policy {name!r}: legs({', '.join(signature.parameters)}): {fault}; must be "
        "legs(self, *, now, size, views)"
    )


@cache
def _signature(known: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a policy or of its `legs`, cached for campaigns of many policies."""
    return inspect.signature(known)


def policy_failure(policy: object, error: Exception) -> PolicyError:
    """Return the one error for anything a policy raised: its name, the exception, and where."""
    factory = policy if callable(policy) else type(policy)
    names = (name for name in _POLICIES.names() if _POLICIES.get(name) is factory)
    name = next(names, getattr(factory, "__name__", "?"))
    blind = isinstance(error, IndexError) and not callable(policy) and not sees_legs(policy)
    hint = "; views is empty unless the class has sees_legs = True" if blind else ""
    return PolicyError(f"split policy {name!r}: {failure_words(error, MAX_WORDS)}{hint}")


def checked_split(policy: SplitPolicy, legs: int) -> Callable[..., tuple[int, ...]]:
    """Return a policy's `legs`, whose errors and wrong answers become one PolicyError.

    Args:
        policy: the policy of a bearer.
        legs: the number of its legs.
    """
    known: dict[Any, tuple[int, ...]] = {}

    def split(*, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        try:
            answer = policy.legs(now=now, size=size, views=views)
        except Exception as error:
            raise policy_failure(policy, error) from error
        try:
            checked = known.get(answer)
        except TypeError:  # a list, or what is no answer at all
            checked = None
        if checked is None:
            checked = _checked_answer(policy, answer, legs)
            known[checked] = checked
        return checked

    return split


def _checked_answer(policy: SplitPolicy, answer: object, legs: int) -> tuple[int, ...]:
    """Return an answer as a tuple of legs; raise PolicyError if it is none of this bearer's."""
    fault = f"split policy {type(policy).__name__} answered {answer!r:.80}, must be"
    try:
        checked = tuple(map(index, answer))  # type: ignore[call-overload]
    except TypeError:
        checked = (-1,)
    if not all(0 <= leg < legs for leg in checked):
        raise PolicyError(f"{fault} a tuple of legs, each 0 to {legs - 1}, e.g. (0,)")
    if len(checked) > legs:
        raise PolicyError(f"{fault} {legs} legs at most")
    return checked


@split_policy("batch")
class BatchPolicy:
    """The papers' policy: each batch of packets is one cycle over the legs, divided at a ratio.

    Batch 100 at 9:1 is 90 packets on the first leg, then 10 on the second, then 90 on the first.
    Shares are rounded by largest remainder (the lower leg first when remainders are equal), so that
    they always add up to the batch. A leg whose share rounds to 0 gets nothing: batch 1 sends every
    packet on the leg with the highest ratio, at 1:1 on the first. Packet by packet over n equal
    legs is batch n (2 is the thesis' smallest batch for its two legs).
    """

    def __init__(
        self,
        legs: int,
        *,
        batch: int = 100,  # thesis table 4.3, default
        ratio: Sequence[float] | None = None,  # None: equal, thesis table 4.3, default 50 / 50
    ) -> None:
        batch = checked_whole("batch", batch, 1)
        self.shares = _shares(batch, _checked_ratio(ratio, legs))
        """Packets of a cycle on each leg."""
        turns = ((leg,) for leg, share in enumerate(self.shares) for _ in range(share))
        self._next_turn = cycle(turns).__next__

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the one leg whose turn it is, whatever the arguments."""
        return self._next_turn()


@split_policy("duplicate")
class DuplicatePolicy:
    """Sends every PDU on every leg: PDCP duplication (TS 38.323 clause 5.11)."""

    def __init__(self, legs: int) -> None:
        self._all = tuple(range(legs))

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        """Return all legs, whatever the arguments."""
        return self._all


def _shares(batch: int, ratio: Sequence[Fraction]) -> list[int]:
    """Return `batch` divided at `ratio` into whole numbers, by largest remainder."""
    whole = sum(ratio)
    exact = [batch * part / whole for part in ratio]
    shares = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(ratio)), key=lambda leg: shares[leg] - exact[leg])
    for leg in by_remainder[: batch - sum(shares)]:
        shares[leg] += 1
    return shares


def _checked_ratio(ratio: Sequence[float] | None, legs: int) -> list[Fraction]:
    if ratio is None:
        return [Fraction(1)] * legs
    fault = f"ratio is {ratio!r}, must be"
    if isinstance(ratio, str) or not isinstance(ratio, Sequence) or len(ratio) != legs:
        raise PolicyError(f"{fault} a list of {legs} numbers, one per leg")
    if not all(isinstance(part, (int, float)) and 0 <= part < math.inf for part in ratio):
        raise PolicyError(f"{fault} of finite numbers >= 0")
    if not any(ratio):
        raise PolicyError(f"{fault} above 0 for at least one leg")
    return [Fraction(part) for part in ratio]
