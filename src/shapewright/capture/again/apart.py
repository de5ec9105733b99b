"""Runs with the program's own code, in a child process in which all of it stays."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from shapewright.capture.forking import Children
from shapewright.capture.replacement import one_thread

Result = TypeVar("Result")


def may_fork() -> bool:
    """Whether a copy of this process can run the program's code and harm nobody.

    A process of a group shares its connections with its copy.
    """
    group = torch.distributed.is_available() and torch.distributed.is_initialized()
    main = threading.current_thread() is threading.main_thread()
    return hasattr(os, "fork") and main and not group


def apart(
    functions: Sequence[Callable[[], Result]], seconds: float
) -> list[Result | None]:
    """What each function returns in a child process; None where it gives no answer."""
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        children: Children[int, Result] = Children(
            lambda place: functions[place](), seconds, 1
        )
        with children:
            return children.each(range(len(functions)))
