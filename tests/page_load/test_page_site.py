"""The site: its sizes, its objects, its document."""

from __future__ import annotations

import re
from statistics import mean

import pytest

from examples.page_load.server import site_key, site_key_hash
from examples.page_load.site import MEAN_BYTES, MEDIA_TYPES, Site, object_bytes


def body(site: Site, path: str) -> tuple[bytes, str]:
    found = site.find(path)
    assert found is not None
    whole = b"".join(found.pieces)
    assert len(whole) == found.size_bytes
    return whole, dict(found.headers)[b"content-type"].decode()


def test_the_document_names_every_object_once_and_asks_for_no_icon() -> None:
    site = Site()
    document, media_type = body(site, "/")
    assert media_type.startswith("text/html")
    named = re.findall(r'(?:src|href)="(/[^"]*)"', document.decode())
    assert sorted(named) == sorted(site.paths) and len(named) == 40
    assert b'href="data:,"' in document
    assert len(document) == 18_000


def test_every_object_has_the_size_and_the_media_type_of_its_name() -> None:
    site = Site()
    for path in site.paths:
        content, media_type = body(site, path)
        assert len(content) == object_bytes(path)
        assert media_type == MEDIA_TYPES[path.rpartition(".")[2]]


def test_kinds_have_about_the_shares_of_the_median_page() -> None:
    kinds = [path.rpartition(".")[2] for path in Site().paths]
    assert [kinds.count(kind) for kind in ("css", "js", "bmp")] == [4, 12, 24]


@pytest.mark.parametrize("objects", [1, 2, 3, 4, 400])
def test_a_page_of_any_number_of_objects_has_them_all(objects: int) -> None:
    site = Site(objects=objects)
    assert len(set(site.paths)) == objects
    assert all(len(body(site, path)[0]) == object_bytes(path) for path in site.paths)


def test_sizes_are_log_normal_around_the_mean_of_the_median_page() -> None:
    sizes = Site(objects=10_000).sizes
    assert mean(sizes) == pytest.approx(MEAN_BYTES, rel=0.01)
    assert sorted(sizes)[5000] == pytest.approx(MEAN_BYTES / (1 + (25_032 / 10_710) ** 2) ** 0.5, 2)


def test_a_seed_changes_the_order_of_sizes_and_nothing_else() -> None:
    one, other = Site(seed=1).sizes, Site(seed=2).sizes
    assert one != other
    assert sorted(one) == sorted(other)
    assert one == Site(seed=1).sizes


def test_an_image_is_a_bitmap_of_at_least_a_row() -> None:
    site = Site()
    for path in site.paths:
        if path.endswith("bmp"):
            content = body(site, path)[0]
            height = int.from_bytes(content[22:26], "little", signed=True)
            assert content[:2] == b"BM" and height >= 1
            assert 54 + 128 * height <= len(content) < 54 + 128 * (height + 1)


@pytest.mark.parametrize("path", ["/favicon.ico", "/object-1-5.js", "", "/object-1"])
def test_nothing_else_is_found(path: str) -> None:
    assert Site().find(path) is None


def test_the_key_is_the_same_everywhere() -> None:
    assert site_key().private_numbers() == site_key().private_numbers()
    assert len(site_key_hash()) == 44
