"""What `torchrun --nproc-per-node 1` sets, for a script that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TOLD = {
    "RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0", "ROLE_RANK": "0",
    "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "ROLE_WORLD_SIZE": "1",
    "GROUP_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
    "ROLE_NAME": "default", "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
}  # fmt: skip
"""What a launched process finds; a script that asks whether it is there is not one."""

ASKS = "<frozen _collections_abc>"
"""Where `get`, `in` and `pop` try whether a name is there."""


@contextmanager
def launched(tell: Callable[[str], None]) -> Iterator[None]:
    """`os.environ["RANK"]` has an answer; `os.environ.get("RANK")` keeps its default.

    Only names that nobody has set are answered. `tell` is called with each.
    """
    environ: Any = os.environ
    plain = type(environ)

    class Launched(plain):  # type: ignore[misc, valid-type]
        def __getitem__(self, key: str) -> str:
            try:
                found: str = plain.__getitem__(self, key)
                return found
            except KeyError:
                if key not in TOLD or sys._getframe(1).f_code.co_filename == ASKS:
                    raise
            tell(key)
            return TOLD[key]

    environ.__class__ = Launched
    try:
        yield
    finally:
        environ.__class__ = plain
