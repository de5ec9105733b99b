"""`os._exit`, in a run that still has something to tell: the end of the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from shapewright.capture.replacement import replaced


class Left(SystemExit):
    """The program ended its process."""

    call = "os._exit"


@contextmanager
def leaving_heard() -> Iterator[None]:
    """`os._exit` ends the program and not the process, but of its own children."""
    owner, leave = os.getpid(), os._exit

    def left(code: int) -> None:
        if os.getpid() != owner:
            leave(code)
        raise Left(code)

    with replaced(os, "_exit", lambda original: left):
        yield
