"""A folder of files as it is, to be compared with what it is later."""

from __future__ import annotations

import os
from pathlib import Path


def tree(folder: Path) -> dict[str, object]:
    """Every file and folder: its contents, its rights and the time of its change."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        contents = path.read_bytes() if path.is_file() else sorted(os.listdir(path))
        found[str(path.relative_to(folder))] = (
            contents, status.st_mode, status.st_mtime_ns, status.st_size,
        )  # fmt: skip
    return found
