"""What a file asks of an experiment's points."""

from __future__ import annotations

import pytest

from minitopo_dc.campaign.file.explain import Sides
from minitopo_dc.settings import SettingsError

ASKED = {"measure": "ratio", "first": "DC", "second": "MP-QUIC"}


@pytest.mark.parametrize("name", ["lower_is_better", "less_is_better"])
def test_a_file_may_use_the_old_name_of_lower_is_better(name: str) -> None:
    assert Sides.check(ASKED | {name: True}, "mine.yaml").lower_is_better


def test_a_file_cannot_use_both_names() -> None:
    with pytest.raises(SettingsError, match="less_is_better"):
        Sides.check(ASKED | {"lower_is_better": True, "less_is_better": True}, "mine.yaml")
