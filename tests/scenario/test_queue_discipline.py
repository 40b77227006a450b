"""Fields of a queue's discipline, and what refuses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields.base import SettingsError
from minitopo_dc.link.queue.codel import CoDel
from minitopo_dc.scenario import Leg, LegSettings, Pdcp
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.scenario.kernel import check_kernel_bearer, kernel_rates

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


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rate_mbps": 8, "queue_discipline": "codex"}, "no queue discipline 'codex'"),
        ({"rate_mbps": 8, "queue_parameters": {"target_ms": 1}}, "'drop-tail' has no parameters"),
        ({"rate_mbps": 8, "queue_discipline": "dualpi2", "rlc": {}}, "reorders packets, which RLC"),
        ({"wifi": {}, "queue_discipline": "codel"}, "queue_discipline: the leg has wifi"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Leg(**fields)


def test_the_kernel_refuses_a_discipline_and_marks_of_the_split() -> None:
    with pytest.raises(SettingsError, match="backend kernel has no queue_discipline pie"):
        kernel_rates(LegSettings(rate_mbps=8, jitter_ms=0, queue_discipline="pie"))
    with pytest.raises(SettingsError, match="mark_above_ms sees the legs"):
        check_kernel_bearer(Pdcp(mark_above_ms=5), 2)


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
