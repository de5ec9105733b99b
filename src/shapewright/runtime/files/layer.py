"""Redirect the files that a program writes to a temporary folder, and read them there.

The user's own files are never changed: removing, renaming or copying has an effect
during the run only, and files that were not written again are read in their place.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PLAIN = ("/dev/", "/proc/", "/sys/")
"""Paths of devices and processes, not of files; `SHARED_MEMORY` does hold files."""

SHARED_MEMORY = "/dev/shm/"

LARGEST_COPY = 1 << 30
"""Bytes of the largest file that is copied to be changed; a larger one gets a file of
the same length that holds zeros."""


@contextmanager
def make_temporary_folder() -> Iterator[str]:
    """Yield a temporary folder that is removed with its content afterwards."""
    with tempfile.TemporaryDirectory(
        "", "shapewright-", ignore_cleanup_errors=True
    ) as folder:
        yield os.path.realpath(folder)


class Layer:
    """A folder laid over the file system, to which everything written is redirected.

    `origins` maps a path to where the user's own file lies that is seen there: None if
    it was removed, another path if that was renamed or copied. An entry holds for
    everything below a folder. A program that has changed into a folder of the layer
    gets the name of the folder below.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.origins: dict[str, str | None] = {}
        self.started: dict[str, None] = {}  # processes, by their command
        self.over_with = False  # a library may keep our `open` beyond the run
        self.stat = os.stat
        self.mkdir = os.mkdir
        self.open = io.open
        self.listdir = os.listdir
        self.unlink = os.remove
        self.rmdir = os.rmdir
        self.move = os.rename
        self.getcwd = os.getcwd

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """Use an empty layer, with nothing written or removed, in the block."""
        before = self.folder, self.origins, tempfile.tempdir
        with make_temporary_folder() as folder:
            self.folder, self.origins = folder, {}
            tempfile.tempdir = self.temporary()
            try:
                yield
            finally:
                self.folder, self.origins, tempfile.tempdir = before

    def temporary(self) -> str:
        """Create the folder for `tempfile`, whose files are removed by their owners."""
        folder = os.path.join(self.folder, "temporary")
        self.mkdir(folder)
        return folder

    # -- names -------------------------------------------------------------------

    def path(self, file: Any) -> str | None:
        """Return the absolute path of a file, or None if it is not redirected."""
        if isinstance(file, bytes):
            file = os.fsdecode(file)
        if self.over_with or not isinstance(file, str | os.PathLike):
            return None
        path = os.path.abspath(os.fsdecode(os.fspath(file)))
        if path == self.folder or path.startswith(self.folder + os.sep):
            path = path[len(self.folder) :] or os.sep
        plain = path.startswith(PLAIN) and not path.startswith(SHARED_MEMORY)
        return None if plain else path

    def over(self, path: str) -> str:
        """Return the location of a path inside the layer's folder."""
        return self.folder + path

    def origin(self, path: str) -> str | None:
        """Return the path of the user's file that is seen at a path, or None."""
        if not self.origins:
            return path
        above = path
        while above not in self.origins:
            parent = os.path.dirname(above)
            if parent == above:
                return path
            above = parent
        origin = self.origins[above]
        return None if origin is None else origin + path[len(above) :]

    def is_there(self, path: str) -> bool:
        """Return whether a path exists on disk, without our own patches."""
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def is_inside(self) -> bool:
        """Return whether the program has changed into a folder that it created."""
        return self.getcwd().startswith(self.folder)

    def is_seen(self, path: str) -> bool:
        """Return whether an absolute path exists for the program."""
        return self.is_there(self.reading(path))

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder for the program."""
        try:
            return stat.S_ISDIR(self.stat(self.reading(path)).st_mode)
        except OSError:
            return False

    def missing(self, file: Any) -> OSError:
        """Return the error that the system raises for a name that does not exist."""
        above = self.path(file) or ""
        while above != os.path.dirname(above):
            above = os.path.dirname(above)
            if self.is_seen(above) and not self.is_folder(above):
                return NotADirectoryError(20, "Not a directory", os.fspath(file))
        return FileNotFoundError(2, "No such file or directory", os.fspath(file))

    def reading(self, file: Any) -> Any:
        """Return the path from which to read a file."""
        path = self.path(file)
        if path is None:
            return file
        over = self.over(path)
        origin = self.origin(path)
        try:
            self.stat(over)
            return over
        except NotADirectoryError:
            return over  # it is below a file that the program wrote
        except OSError:
            if origin is None:
                return over  # where nothing is, as it was removed
        if origin != path or os.path.isabs(file) or self.is_inside():
            return origin
        return file

    def names(self, folder: Any) -> list[str]:
        """Return the merged `os.listdir` of the layer's and the user's folder."""
        path = self.path(folder)
        if path is None:
            return self.listdir(folder)
        if not self.is_there(self.reading(folder)):
            raise self.missing(folder)
        over, origin = self.over(path), self.origin(path)
        names = self.listdir(over) if self.is_there(over) else []
        if origin is not None and self.is_there(origin):
            below = self.listdir(origin)
            names = [*(name for name in below if name not in names), *names]
        here = path.rstrip(os.sep)
        for moved in self.origins:
            if os.path.dirname(moved) == path and os.path.basename(moved) not in names:
                names.append(os.path.basename(moved))
        return [name for name in names if self.is_seen(f"{here}/{name}")]

    # -- changes -----------------------------------------------------------------

    def writing(self, file: Any, keeps: bool = False) -> Any:
        """Return the path at which to write a file; `keeps` preserves its content."""
        path = self.path(file)
        if path is None:
            return file
        over, origin = self.over(path), self.origin(path)
        if self.is_folder(path):
            self.made(over)  # which is refused as the folder itself is
        elif self.is_folder(os.path.dirname(path)):
            self.made(self.over(os.path.dirname(path)))
            if keeps and not self.is_there(over) and origin is not None:
                self.fill(origin, over)
        else:
            error = self.missing(file)
            error.of_folder = True  # type: ignore[attr-defined]
            raise error
        return over

    def fill(self, origin: str, over: str) -> None:
        """Copy a user's file into the layer, so that it can be changed there."""
        if not self.is_there(origin):
            return
        size = self.stat(origin).st_size
        with self.open(over, "wb") as new:
            if size > LARGEST_COPY:
                new.truncate(size)
                return
            with self.open(origin, "rb") as old:
                shutil.copyfileobj(old, new)

    def made(self, folder: str) -> None:
        """Create a folder of the layer, with all its parents."""
        if not self.is_there(folder):
            self.made(os.path.dirname(folder))
            self.mkdir(folder)

    def remove(self, file: Any) -> None:
        """Remove a file, as `os.remove` does, or a folder with everything in it."""
        path = self.path(file)
        if path is None or not self.is_seen(path):
            raise self.missing(file)
        self.forget(path)
        self.origins[path] = None
        over = self.over(path)
        if self.is_there(over):
            self.clear(over)

    def forget(self, path: str) -> None:
        """Forget what was removed, renamed or copied below a path."""
        for key in [key for key in self.origins if key.startswith(path + os.sep)]:
            del self.origins[key]

    def clear(self, over: str) -> None:
        """Remove a file or a folder of the layer."""
        if not stat.S_ISDIR(self.stat(over).st_mode):
            self.unlink(over)
            return
        for name in self.listdir(over):
            self.clear(os.path.join(over, name))
        self.rmdir(over)

    def rename(self, source: Any, target: Any) -> None:
        """Rename a file or a folder, as `os.rename` does, without reading files."""
        old, new = self.both(source, target)
        if old == new:
            return
        self.refuse_rename(old, new, os.fspath(target))
        moved = self.origin(old)
        below = {k: v for k, v in self.origins.items() if k.startswith(old + os.sep)}
        if self.is_there(self.over(new)):
            self.clear(self.over(new))
        self.forget(new)
        self.origins[new] = moved
        self.origins |= {new + key[len(old) :]: value for key, value in below.items()}
        if self.is_there(self.over(old)):
            self.made(self.over(os.path.dirname(new)))
            self.move(self.over(old), self.over(new))
        self.forget(old)
        self.origins[old] = None

    def both(self, source: Any, target: Any) -> tuple[str, str]:
        """Return the absolute paths of source and target, or raise an `OSError`."""
        paths = self.path(source) or "", self.path(target) or ""
        for file, path in zip((source, target), paths, strict=True):
            if not self.is_folder(os.path.dirname(path)):
                raise self.missing(file)
        if not self.is_seen(paths[0]):
            raise self.missing(source)
        return paths

    def refuse_rename(self, old: str, new: str, target: str) -> None:
        """Raise the system's error if `old` may not be renamed to `new`."""
        folder = self.is_folder(old)
        if folder and new.startswith(old + os.sep):
            raise OSError(22, "Invalid argument", target)
        if folder and self.is_seen(new) and not self.is_folder(new):
            raise NotADirectoryError(20, "Not a directory", target)
        if old.startswith(new + os.sep):
            raise OSError(39, "Directory not empty", target)
        if not folder and self.is_folder(new):
            raise IsADirectoryError(21, "Is a directory", target)
        if folder and self.is_folder(new) and self.names(new):
            raise OSError(39, "Directory not empty", target)

    def copy(self, source: Any, target: Any) -> None:
        """Make a file, or a folder with its content, visible under a second name."""
        old, new = self.both(source, target)
        if self.is_folder(old):
            self.made(self.over(new))
            for name in self.names(old):
                self.copy(os.path.join(old, name), os.path.join(new, name))
            return
        if self.is_there(self.over(new)):
            self.unlink(self.over(new))
        self.origins[new] = self.origin(old)
        if self.is_there(self.over(old)):
            self.made(self.over(os.path.dirname(new)))
            self.fill(self.over(old), self.over(new))
