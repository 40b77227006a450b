"""The question to a split policy: its own errors and wrong answers become one error."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from minitopo_dc.pdcp.policies.policy import PolicyError, SplitPolicy, policy_failure
from minitopo_dc.pdcp.policies.view import LegView


class CheckedPolicy:
    """A split policy of a bearer with this number of legs, whose answers are checked."""

    __slots__ = ("_known", "_legs", "_policy")

    def __init__(self, policy: SplitPolicy, legs: int) -> None:
        self._policy = policy
        self._legs = legs
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return the policy's answer, which names legs of the bearer only.

        Raises:
            PolicyError: the policy raised an error, or its answer is no tuple of legs.
        """
        try:
            answer = self._policy.legs(now=now, size=size, views=views)
        except Exception as error:
            raise policy_failure(self._policy, error) from error
        try:
            known = self._known.get(answer)
        except TypeError:  # a list, or what is no answer at all
            known = None
        return self._checked(answer) if known is None else known

    def _checked(self, answer: object) -> tuple[int, ...]:
        """Return an answer not given before as a tuple of legs; raise PolicyError if it is none."""
        most = self._legs - 1
        try:
            legs = tuple(map(index, answer))  # type: ignore[call-overload]
            named = all(0 <= leg <= most for leg in legs)
        except TypeError:
            named = False
        if not named:
            raise self._refused(answer, f"must be a tuple of legs, each 0 to {most}, e.g. (0,)")
        if len(legs) > self._legs:
            raise self._refused(answer, f"must be {self._legs} legs at most")
        self._known[legs] = legs
        return legs

    def _refused(self, answer: object, allowed: str) -> PolicyError:
        name = type(self._policy).__name__
        return PolicyError(f"split policy {name} answered {answer!r:.80}, {allowed}")
