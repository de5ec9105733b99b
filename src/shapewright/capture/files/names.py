"""Names of files as functions of `os` are given them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

Patch = tuple[Any, str, Callable[..., Any]]
"""An owner, the name of its function, and what stands in for that."""


def named_in(file: Any, folder: int | None) -> Any:
    """The path of a file that is named from an open folder, `dir_fd`."""
    if folder is None or not isinstance(file, str | bytes | os.PathLike):
        return file
    if os.path.isabs(os.fspath(file)):
        return file
    return os.path.join(path_of_open(folder), os.fsdecode(os.fspath(file)))


def path_of_open(descriptor: int) -> str:
    """Where the file or folder lies that is open under a number."""
    if sys.platform == "darwin":
        import fcntl

        found = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return os.fsdecode(found.rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")
