"""Which packet schedulers of MPTCP there are: those of this machine's kernel, or of the guest's."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.processes import kernel_socket


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("default", None),
        ("bpf_red", None),
        ("bpf_rr", "options.scheduler: bpf_rr; this machine's kernel has default, bpf_red"),
    ],
)
def test_one_that_the_kernel_has_not_is_unsupported(
    wanted: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "available").write_text("default bpf_red\n")
    monkeypatch.setattr(kernel_socket, "AVAILABLE_SCHEDULERS", tmp_path / "available")
    assert get_runner("mptcp").unsupported_options({"scheduler": wanted}, virtual=False) == reason


def test_a_kernel_without_a_choice_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_socket, "AVAILABLE_SCHEDULERS", tmp_path / "none")
    told = get_runner("mptcp").unsupported_options({"scheduler": "default"}, virtual=False)
    assert told == "options.scheduler: default; this machine's kernel has none to choose"
    assert get_runner("mptcp").unsupported_options({}, virtual=False) is None


def test_a_name_is_one_word() -> None:
    with pytest.raises(SettingsError, match="option scheduler must be"):
        get_runner("mptcp").check_options({"scheduler": "x = 1"}, 4)
