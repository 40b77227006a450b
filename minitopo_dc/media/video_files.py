"""Places of videos: those that come with the package, and files of the user's."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.files import parse_json, read_text
from minitopo_dc.installation import shipped
from minitopo_dc.media.video import Video, VideoError, parse_video

EMBEDDED = ("movie", "bbb", "bbb4k")
"""Of Sabre's repository (BSD 2-Clause, `LICENSE.sabre` beside them)."""
MAX_BYTES = 16 << 20
"""Of a file: a film of two hours in segments of 1 s and 20 qualities has 2 MB."""


def read_video(name: str) -> Video:
    """Read an embedded video by its name, or a file of the user's by its path.

    Raises:
        VideoError: there is none, or it is wrong.
    """
    path = shipped("videos") / f"{name}.json" if name in EMBEDDED else Path(name)
    try:
        values = parse_json(read_text(path, MAX_BYTES))
    except FileNotFoundError:
        raise VideoError(
            f"video {name}: there is no such file; allowed: {', '.join(EMBEDDED)}, or a file"
        ) from None
    except (OSError, ValueError) as error:
        raise VideoError(f"video {name}: {error}") from None
    try:
        return parse_video(name, values)
    except VideoError as error:
        raise VideoError(f"video {name}: {error}") from None
