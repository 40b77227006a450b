"""What the browser says of a page load, judged."""

from __future__ import annotations

from typing import Any

import pytest

from examples.page_load.timing import PageError, PageLoad, page_load


def entry(path: str, size: int, **more: Any) -> dict[str, Any]:
    return {
        "name": f"https://10.0.0.2:4433{path}",
        "nextHopProtocol": "h2",
        "responseStatus": 200,
        "encodedBodySize": size,
        "startTime": 10.0,
        "responseEnd": 40.30000001,
        **more,
    }


def entries(*objects: dict[str, Any], **document: Any) -> list[dict[str, Any]]:
    times = {"domContentLoadedEventEnd": 60.0, "loadEventEnd": 80.1, **document}
    return [entry("/", 18_000, **times), *objects]


GOOD = entry("/object-1-500.js", 500)


def judged(*objects: dict[str, Any], expected: int = 1, **document: Any) -> PageLoad:
    return page_load(entries(*objects, **document), "h2", expected)


def test_times_bytes_and_objects_are_those_of_the_browser() -> None:
    found = judged(GOOD)
    times = (found.response_end_ms, found.dom_content_loaded_ms, found.page_load_ms)
    assert times == (40.3, 60.0, 80.1)
    assert (found.objects, found.bytes, found.protocol) == (1, 18_500, "h2")
    assert [resource.path for resource in found.resources] == ["/", "/object-1-500.js"]


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ({"nextHopProtocol": "http/1.1"}, "/object-1-500.js came by http/1.1, not h2"),
        ({"nextHopProtocol": ""}, "came by none, not h2"),
        ({"responseStatus": 404}, r"was not loaded \(status 404\)"),
        ({"encodedBodySize": 499}, "499 bytes, not 500"),
    ],
)
def test_an_object_that_is_not_as_asked_for_is_an_error(
    spoilt: dict[str, Any], reason: str
) -> None:
    with pytest.raises(PageError, match=reason):
        judged({**GOOD, **spoilt})


def test_an_object_of_another_site_must_not_be_empty() -> None:
    with pytest.raises(PageError, match="0 bytes, not more than none"):
        judged(entry("/logo.png", 0))
    assert judged(entry("/logo.png", 7)).objects == 1


def test_a_missing_object_is_an_error() -> None:
    with pytest.raises(PageError, match="1 objects beside the document, not 40"):
        judged(GOOD, expected=40)


def test_a_page_without_an_end_of_its_load_event_is_an_error() -> None:
    with pytest.raises(PageError, match="the load event has not ended"):
        judged(GOOD, loadEventEnd=0)
