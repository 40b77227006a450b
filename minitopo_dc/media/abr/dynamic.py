"""DYNAMIC: an algorithm by throughput while the buffer has little, and BOLA otherwise.

"From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference Player" (Spiteri,
Sitaraman, Sparacio, MMSys 2018), section 5.
"""

from __future__ import annotations

from minitopo_dc.media.abr.algorithm import (
    AbrAlgorithm,
    AbrChoice,
    AbrView,
    Download,
    Progress,
    abr_algorithm,
)
from minitopo_dc.media.abr.bola import Bola
from minitopo_dc.media.abr.throughput import Throughput
from minitopo_dc.media.video import Video

THRESHOLD_S = 10.0
"""In the buffer; the paper's."""


@abr_algorithm("dynamic")
class Dynamic(AbrAlgorithm):
    """Changes to BOLA when the buffer passes the threshold and BOLA asks for no less."""

    def __init__(self, video: Video, buffer_s: float) -> None:
        super().__init__(video, buffer_s)
        self._bola = Bola(video, buffer_s, finite=True)
        self._throughput = Throughput(video, buffer_s)
        self._is_bola = False

    def choose(self, view: AbrView) -> AbrChoice:
        """Return BOLA's or the throughput rule's choice.

        It changes to BOLA where that asks for no less, and back where BOLA asks for less with
        little buffered.
        """
        bola, throughput = self._bola.choose(view), self._throughput.choose(view)
        if self._is_bola:
            low = view.buffer_s < THRESHOLD_S and bola.quality < throughput.quality
            self._is_bola = not low
        else:
            self._is_bola = view.buffer_s > THRESHOLD_S and bola.quality >= throughput.quality
        return bola if self._is_bola else throughput

    def downloaded(self, download: Download) -> None:
        """Tell both rules of a download that has ended."""
        self._bola.downloaded(download)
        self._throughput.downloaded(download)

    def waited(self, seconds: float) -> None:
        """Tell both rules of a wait (s)."""
        self._bola.waited(seconds)
        self._throughput.waited(seconds)

    def abandon(self, progress: Progress) -> int | None:
        """Return the throughput rule's answer, as in dash.js whichever rule chooses."""
        return self._throughput.abandon(progress)
