"""A request with a body, as both servers judge it: `POST /respond/N` is answered with N bytes."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from minitopo_dc.runners.content import Received, response_size


class Posted:
    """One `POST` whose body arrives in pieces; sans-IO.

    A server takes the whole body before it answers, whatever the answer will be.
    """

    def __init__(self, path: str, headers: Mapping[bytes, bytes]) -> None:
        self._size = response_size(path)
        self._declared = headers.get(b"content-length", b"")
        self._body = Received()

    def take(self, data: bytes) -> None:
        """The next piece of the body."""
        self._body.take(data)

    def answer(self) -> tuple[HTTPStatus, int]:
        """The status and the size of the answer in bytes, once the body is complete.

        404 for another path. 400 for a body that has not the length that it was announced with
        (`content-length`), or that was announced with none, or that is not the content.
        """
        if self._size is None:
            return HTTPStatus.NOT_FOUND, 0
        if not self._declared.isdigit() or not self._body.is_content(int(self._declared)):
            return HTTPStatus.BAD_REQUEST, 0
        return HTTPStatus.OK, self._size
