"""No command reaches for the network: what would is stood in for, or ends at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.absent.tellers import Tell

OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
    "DIFFUSERS_OFFLINE": "1", "TORCH_HUB_OFFLINE": "1",
}  # fmt: skip
"""Environment in which libraries do not try to reach their hubs."""
HERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "", None)


@contextmanager
def refuse_network(tell: Tell) -> Iterator[None]:
    """Keep the block from the network."""
    before = {name: os.environ.get(name) for name in OFFLINE}
    for name, value in OFFLINE.items():
        os.environ.setdefault(name, value)

    def resolving(original: Any) -> Any:
        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if name in HERE or name == socket.gethostname():
                return original(host, *args, **kwargs)
            raise socket.gaierror(
                socket.EAI_NONAME, f"no network in a rehearsal: `{name}` is not asked"
            )

        return getaddrinfo

    def listing(original: Any) -> Any:
        def list_models(github: str, *args: Any, **kwargs: Any) -> list[str]:
            tell(f"`torch.hub.list('{github}')`", "an empty list", "assumed")
            return []

        return list_models

    with ExitStack() as stack:
        stack.enter_context(replace_attribute(socket, "getaddrinfo", resolving))
        stack.enter_context(replace_attribute(torch.hub, "list", listing))
        try:
            yield
        finally:
            for name in OFFLINE:
                if before[name] is None:
                    os.environ.pop(name, None)
