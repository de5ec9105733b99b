"""What is there, of which kind, and where the program stands: asked of a layer."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from shapewright.capture.files.layer import Layer
from shapewright.capture.files.names import Patch, named_in


def asking(layer: Layer) -> list[Patch]:
    """What is there, of which kind; where the program stands."""
    scandir, chdir, getcwd = os.scandir, os.chdir, os.getcwd

    def asked(original: Any) -> Any:
        def ask(file: Any, *rest: Any, dir_fd: int | None = None, **named: Any) -> Any:
            return original(layer.reading(named_in(file, dir_fd)), *rest, **named)

        return ask

    def listed(folder: Any = ".") -> list[str]:
        return layer.names(folder)

    def scanned(folder: Any = ".") -> Any:
        path = layer.path(folder)
        touched = path is not None and (
            layer.origins or layer.is_there(layer.over(os.path.dirname(path)))
        )
        if path is None or isinstance(folder, bytes) or not touched:
            return scandir(folder)
        return Entries(layer, os.fspath(folder))

    def gone_to(folder: Any) -> None:
        path = layer.path(folder)
        origin = None if path is None else layer.origin(path)
        if path is None:
            chdir(folder)
        elif origin == path and layer.is_there(path):
            chdir(path)
        else:
            if layer.is_folder(path):
                layer.made(layer.over(path))
            chdir(layer.over(path))

    def here() -> str:
        folder = getcwd()
        if folder == layer.folder or folder.startswith(layer.folder + os.sep):
            return folder[len(layer.folder) :] or os.sep
        return folder

    return [
        (os, "stat", asked(os.stat)),
        (os, "lstat", asked(os.lstat)),
        (os, "access", asked(os.access)),
        (os, "listxattr", asked(getattr(os, "listxattr", None))),
        (os, "listdir", listed),
        (os, "scandir", scanned),
        (os, "chdir", gone_to),
        (os, "getcwd", here),
    ]


class Entry:
    """`os.DirEntry`, of what is seen through a layer."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        return self.stat(follow_symlinks=False).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.is_a(stat.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.is_a(stat.S_ISREG, follow_symlinks)

    def is_symlink(self) -> bool:
        return self.is_a(stat.S_ISLNK, False)

    def is_junction(self) -> bool:
        return False

    def is_a(self, kind: Callable[[int], bool], follow: bool) -> bool:
        """Whether its mode is of a kind; a link to nowhere is of none."""
        try:
            return kind(self.stat(follow_symlinks=follow).st_mode)
        except FileNotFoundError:
            return False


class Entries:
    """`os.scandir` of what is seen through a layer."""

    def __init__(self, layer: Layer, folder: str) -> None:
        self.items = iter([Entry(folder, name) for name in layer.names(folder)])

    def __iter__(self) -> Entries:
        return self

    def __next__(self) -> Entry:
        return next(self.items)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def close(self) -> None:
        """Nothing is open."""
