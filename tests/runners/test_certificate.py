"""The certificates of servers."""

from pathlib import Path

from minitopo_dc.runners.addresses import SIMULATED
from minitopo_dc.runners.certificate import write_files


def test_the_stored_certificate_of_simulations_is_the_one_that_is_made(tmp_path: Path) -> None:
    made = write_files(tmp_path)
    assert [file.read_bytes() for file in SIMULATED] == [file.read_bytes() for file in made]
