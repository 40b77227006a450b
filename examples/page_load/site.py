"""A synthetic site: one page and its objects, the same bytes on every machine."""

from __future__ import annotations

import math
import random
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from minitopo_dc.workloads.exchange import BLOCK, Content

OBJECTS = 40
"""Issued as the size of a page by this project; the median page of 2024 has 71."""
MEAN_BYTES = 37_400
"""HTTP Archive, Web Almanac 2024, chapter Page Weight: 2,652 kB in 71 requests, the median page on
desktops."""
RELATIVE_DEVIATION = 25_032 / 10_710
"""Standard deviation by mean of a log-normal size: IEEE 802.16m evaluation methodology, web
browsing, main objects. (Its embedded objects are of the web of 2000: 8 kB on average.)"""
DOCUMENT_BYTES = 18_000
"""HTML of the median page (Web Almanac 2024)."""
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css",
    "js": "text/javascript",
    "bmp": "image/bmp",
}
OBJECT_PATH = re.compile(r"/object-\d+-(\d+)\.(css|js|bmp)")
# A Windows bitmap (BITMAPFILEHEADER, BITMAPINFOHEADER) of 32 bits per pixel: any bytes are pixels.
BITMAP = struct.Struct("<2sIHHI IiiHHIIiiII")
BITMAP_WIDTH = 32
FILLER = BLOCK.hex().encode()


@dataclass(frozen=True)
class Site:
    """A page with a number of objects beside its document.

    A tenth of them are style sheets, three tenths scripts (which block the parser), the others
    images: about the median page's shares (Web Almanac 2024). The document names them all.
    """

    objects: int = OBJECTS
    seed: int = 1

    @cached_property
    def sizes(self) -> list[int]:
        """Return the objects' sizes in bytes: quantiles of the distribution, shuffled by the seed.

        So a page of few objects has the distribution's shape, too, whatever the seed.
        """
        variance = math.log(1 + RELATIVE_DEVIATION**2)
        logarithm = NormalDist(math.log(MEAN_BYTES) - variance / 2, math.sqrt(variance))
        shares = ((number + 0.5) / self.objects for number in range(self.objects))
        sizes = [round(math.exp(logarithm.inv_cdf(share))) for share in shares]
        random.Random(self.seed).shuffle(sizes)
        return sizes

    @cached_property
    def paths(self) -> list[str]:
        """Return the objects' paths, each of which names its object's size."""
        sheets, scripts = math.ceil(self.objects / 10), round(self.objects * 3 / 10)
        kinds = ["css"] * sheets + ["js"] * scripts
        kinds += ["bmp"] * (self.objects - len(kinds))
        return [
            f"/object-{number}-{size}.{kind}"
            for number, (kind, size) in enumerate(zip(kinds, self.sizes, strict=False), 1)
        ]

    @cached_property
    def document(self) -> bytes:
        """Return the page: style sheets in its head, then images, scripts at its end."""
        tags = {
            "css": '<link rel="stylesheet" href="{}">\n',
            "bmp": '<img src="{}" alt="">\n',
            "js": '<script src="{}"></script>\n',
        }
        parts = {
            kind: "".join(tag.format(path) for path in self.paths if path.endswith(kind))
            for kind, tag in tags.items()
        }
        # An icon that is empty, so that the browser asks for none.
        head = '<!doctype html>\n<title>Page</title>\n<link rel="icon" href="data:,">\n'
        page = f"{head}{parts['css']}<body>\n{parts['bmp']}{parts['js']}".encode()
        return page + filled(max(0, DOCUMENT_BYTES - len(page)), b"<!--", b"-->")

    def find(self, path: str) -> Content | None:
        """Return the content at the path of a request, None if there is none."""
        if path != "/" and path not in self.paths:
            return None
        kind, size = path.rpartition(".")[2], object_bytes(path) or 0
        if path == "/":
            kind, body = "html", self.document
        elif kind == "bmp":
            body = filled(size, bitmap_header(size))
        else:
            body = filled(size, b"/*", b"*/")
        return Content(len(body), [body], ((b"content-type", MEDIA_TYPES[kind].encode()),))


def object_bytes(path: str) -> int | None:
    """Return the size (bytes) in an object's name, None for a path that is no object's."""
    match = OBJECT_PATH.fullmatch(path)
    return int(match[1]) if match else None


def filled(size: int, begin: bytes, end: bytes = b"") -> bytes:
    """Return `size` bytes between these marks, or spaces where they do not fit."""
    inside = size - len(begin) - len(end)
    if inside < 0:
        return b" " * size
    return begin + (FILLER * (1 + inside // len(FILLER)))[:inside] + end


def bitmap_header(size: int) -> bytes:
    """Return the header of a bitmap that has as many rows as fit into `size` bytes."""
    row = 4 * BITMAP_WIDTH
    rows = (size - BITMAP.size) // row
    file = (b"BM", size, 0, 0, BITMAP.size)
    return BITMAP.pack(*file, 40, BITMAP_WIDTH, rows, 1, 32, 0, rows * row, 0, 0, 0, 0)
