from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.media.video import VideoError, parse_video
from minitopo_dc.workloads.video import EMBEDDED, read_video

GOOD = {
    "segment_duration_ms": 2000,
    "bitrates_kbps": [400, 800],
    "segment_sizes_bits": [[800_000, 1_600_000], [720_000, 1_700_000]],
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_embedded_videos_have_199_segments_of_3_s(name: str) -> None:
    video = read_video(name)
    assert (len(video.sizes_bytes), video.segment_s) == (199, 3.0)


def test_a_file_of_the_users_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    video = read_video(str(path))
    assert video.bitrates_kbps == (400, 800)
    assert video.sizes_bytes == ((100_000, 200_000), (90_000, 212_500))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"segment_sizes_bits": [[1, 2], [3]]}, r"segment_sizes_bits\[1\] has 1 sizes; allowed: 2"),
        ({"segment_sizes_bits": [[1, None]]}, r"segment_sizes_bits\[0\]\[1\] is None; allowed"),
        ({"segment_sizes_bits": [[1, 0]]}, r"segment_sizes_bits\[0\]\[1\] is 0; allowed"),
        ({"segment_sizes_bits": [7]}, r"segment_sizes_bits\[0\] has 7; allowed: 2"),
        ({"segment_sizes_bits": []}, "a list with a list for each segment"),
        ({"bitrates_kbps": [800, 400]}, "ascends"),
        ({"bitrates_kbps": "fast"}, "a list of numbers above 0"),
        ({"segment_duration_ms": -1}, "segment_duration_ms is -1; allowed: a number above 0"),
        ({"more": 1}, "allowed: an object with segment_duration_ms, bitrates_kbps"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(VideoError, match=words):
        parse_video("mine.json", GOOD | change)


def test_a_file_that_is_not_there_is_told_with_the_embedded_videos() -> None:
    with pytest.raises(VideoError, match=r"video no\.json: there is no such file; allowed: movie"):
        read_video("no.json")


def test_a_file_that_is_no_json_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(VideoError, match=r"mine\.json: "):
        read_video(str(path))
