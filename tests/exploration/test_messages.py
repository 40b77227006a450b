"""What the page's server takes from a browser."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_server.services.kernels.connection.base import serialize_msg_to_ws_v1

from minitopo_dc.exploration.messages import MessageChannel, is_message

PARTS = [b"{}", b'{"a": 1}', b"", b"{}", b"buffer"]
WHOLE: bytes = serialize_msg_to_ws_v1(PARTS, "shell")  # type: ignore[no-untyped-call]
JSON = json.dumps({"header": {"msg_type": "comm_msg"}, "channel": "shell"})


def test_a_message_of_the_protocol_is_one() -> None:
    assert is_message(WHOLE)


@pytest.mark.parametrize("data", [JSON, JSON.encode(), b"", WHOLE[:-1], bytes(8), b"\x02" * 16])
def test_another_protocol_s_message_ends_the_connection(data: Any) -> None:
    closed: list[tuple[int, str]] = []
    handler = SimpleNamespace(close=lambda code, reason: closed.append((code, reason)))
    channel: Any = SimpleNamespace(websocket_handler=handler)
    MessageChannel.handle_incoming_message(channel, data)
    assert closed == [(1002, "no message of the page's protocol")]
