"""The clock of the element's tests, for those of the element in C."""

from tests.element.conftest import clock

__all__ = ["clock"]
