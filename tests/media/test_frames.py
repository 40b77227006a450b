from __future__ import annotations

import pytest

from minitopo_dc.media.frames import FramesError, even_frames, freezes_s, read_frames

PICOQUIC = even_frames(150, 33_333_333, bytes_per_s=78_000, gop=30, key_ratio=10)
"""Of picoquic's media test: 2,000 bytes, every 30th frame 20,000."""
EVEN = [(number, number / 30) for number in range(60)]


def test_a_group_has_the_mean_rate_and_begins_with_a_key_frame() -> None:
    assert PICOQUIC.sizes_bytes[:3] == (20_000, 2_000, 2_000)
    assert PICOQUIC.sizes_bytes[30] == 20_000
    assert sum(PICOQUIC.keys) == 5


def test_a_file_of_sizes_is_repeated_and_names_its_key_frames() -> None:
    frames = read_frames("# bytes\n5000 key\n\n1000\n", 5, 40_000_000)
    assert frames.sizes_bytes == (5000, 1000, 5000, 1000, 5000)
    assert frames.keys == (True, False, True, False, True)
    assert frames.due_ns(2) == 80_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1000\nfast\n", r"line 2: 'fast'; allowed: BYTES or BYTES key"),
        ("1000 1\n", r"line 1: '1000 1'; allowed: BYTES or BYTES key"),
        ("10\n", r"line 1: 10 bytes; allowed: 24 to 10,000,000"),
        ("# nothing\n", "no frame in it"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(text: str, words: str) -> None:
    with pytest.raises(FramesError, match=words):
        read_frames(text, 5, 40_000_000)


def test_frames_at_their_pace_never_freeze() -> None:
    assert freezes_s(EVEN) == []


def test_a_gap_of_150_ms_more_than_the_mean_is_a_freeze() -> None:
    """Three times 33 ms is less than that: the larger one counts."""
    gap = 1 / 30 + 0.150
    late = [(60, 59 / 30 + gap + 1e-9), (61, 59 / 30 + gap + 1 / 30)]
    assert freezes_s([*EVEN, *late]) == [pytest.approx(gap)]
    shorter = [(60, 59 / 30 + gap - 0.001)]
    assert freezes_s([*EVEN, *shorter]) == []


def test_with_few_frames_a_second_three_times_the_mean_is_a_freeze() -> None:
    slow = [(number, number / 2) for number in range(10)]
    assert freezes_s([*slow, (10, 4.5 + 1.4)]) == []
    assert freezes_s([*slow, (10, 4.5 + 1.5)]) == [pytest.approx(1.5)]


def test_a_frame_that_another_has_overtaken_is_not_shown() -> None:
    """So what comes in a burst behind a gap, the newest first, ends the freeze once."""
    burst = [(63, 2.5), (60, 2.51), (61, 2.52), (64, 2.53)]
    assert freezes_s([*EVEN, *burst]) == [pytest.approx(2.5 - 59 / 30)]


def test_lost_frames_are_a_gap() -> None:
    lost = [(number, time) for number, time in EVEN if not 40 <= number < 46]
    assert freezes_s(lost) == [pytest.approx(7 / 30)]
