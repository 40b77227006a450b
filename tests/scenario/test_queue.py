"""A leg's queue: its discipline, its limit in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitopo_dc.link.queue.codel import CoDel
from minitopo_dc.scenario import LegSettings
from minitopo_dc.scenario.element import ElementSettings

OWN = """
from minitopo_dc.plugins import QueueDiscipline, queue_discipline

@queue_discipline("of-a-file")
class OfAFile(QueueDiscipline):
    pass
"""


def test_a_leg_has_the_discipline_that_its_fields_name() -> None:
    leg = LegSettings(
        rate_mbps=8, queue_discipline="codel", queue_parameters={"target_ms": 2, "interval_ms": 50}
    )
    made = leg.discipline()
    assert isinstance(made, CoDel)
    assert made.numbers == (2_000_000, 50_000_000)
    assert len({leg, leg.model_copy()}) == 1


def test_drop_tail_leaves_a_file_as_it_was() -> None:
    leg = LegSettings(rate_mbps=8)
    assert leg.discipline() is None
    assert not {"queue_discipline", "queue_parameters"} & leg.model_dump().keys()


def test_an_element_loads_plugins_before_its_legs(tmp_path: Path) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text(OWN, encoding="utf-8")
    radio = {"rate_mbps": 8, "queue_discipline": "of-a-file"}
    settings = ElementSettings(
        host="gnb",
        directory=tmp_path,
        plugins=[str(plugin)],
        legs=[{"leg": 1, "interface": "gnb-leg1", "seed": "1", "radio": radio}],
    )
    assert type(settings.leg(1).radio.discipline()).__name__ == "OfAFile"


def leg(**fields: Any) -> LegSettings:
    return LegSettings.check({"rate_mbps": 8} | fields, "test")


def test_it_holds_what_the_rate_sends_in_that_time() -> None:
    assert leg(queue_ms=50).queue_limit_bytes() == 50_000
    assert leg(queue_bytes=70).queue_limit_bytes() == 70
    assert leg().queue_limit_bytes() is None


def test_there_is_no_limit_of_packets_unless_one_is_given() -> None:
    assert leg(queue_ms=50).queue_packets is None
    assert leg(queue_ms=50, queue_packets=10).queue_packets == 10
    assert leg().queue_packets == 100


def test_a_leg_drops_what_does_not_fit() -> None:
    made = leg(queue_ms=2, jitter_ms=0).build("seed")
    for number in range(10):
        made.push(number, 1000, 0)
    assert made.statistics().dropped_queue == 8
