"""What the page's server takes from a browser: messages of its own protocol, nothing else."""

from __future__ import annotations

from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

WORD_BYTES = 8
"""Of the number of offsets that a message begins with, and of each of them."""
PROTOCOL_ERROR = 1002
"""A code of WebSocket (RFC 6455, section 7.4.1)."""


class MessageChannel(ZMQChannelsWebsocketConnection):
    """A kernel's WebSocket, for the page's protocol only, that ends with what is no message.

    The protocol is `v1.kernel.websocket.jupyter.org`; the server has an older one for clients that
    do not offer it. In both a message begins with a number of offsets that it does not check: of
    the first bytes of a JSON text it would make lists of 10^9 items and more.
    """

    def handle_incoming_message(self, incoming_msg: Any) -> None:
        """Pass a message on to the kernel, or close the connection."""
        if is_message(incoming_msg):
            super().handle_incoming_message(incoming_msg)
        else:
            self.websocket_handler.close(PROTOCOL_ERROR, "no message of the page's protocol")


def is_message(data: str | bytes) -> bool:
    """Return whether data begin with as many offsets as they say, each within them, in order."""
    if isinstance(data, str):
        return False
    count = int.from_bytes(data[:WORD_BYTES], "little")
    if not 2 <= count < len(data) // WORD_BYTES:
        return False
    words = [data[WORD_BYTES * n : WORD_BYTES * (n + 1)] for n in range(1, count + 1)]
    offsets = [int.from_bytes(word, "little") for word in words]
    return offsets == sorted(offsets) and offsets[-1] <= len(data)
