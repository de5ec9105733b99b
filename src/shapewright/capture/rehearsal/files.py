"""Files that a program writes lie in a temporary folder, and are read from there.

The user's own are never changed: what is removed or renamed is so for the run only.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
from typing import Any

PLAIN = ("/dev/", "/proc/")


class Shadow:
    """A folder that lies over the file system: what is written, is written there.

    Of what is `gone` nothing is seen any more but what was written again. A program
    that has gone into a folder of the shadow is told the name of the folder below.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.gone: set[str] = set()
        self.over_with = False  # a library may keep our `open` beyond the run
        self.written: dict[str, None] = {}
        self.stat = os.stat
        self.mkdir = os.mkdir
        self.open = io.open
        self.listdir = os.listdir
        self.unlink = os.remove
        self.rmdir = os.rmdir
        self.getcwd = os.getcwd

    def path(self, file: Any) -> str | None:
        """The absolute path of a file that is named, None for what is no name."""
        if isinstance(file, bytes):
            file = os.fsdecode(file)
        if self.over_with or not isinstance(file, str | os.PathLike):
            return None
        path = os.path.abspath(os.fspath(file))
        if path == self.folder or path.startswith(self.folder + os.sep):
            path = path[len(self.folder) :] or os.sep
        return None if path.startswith(PLAIN) else path

    def over(self, path: str) -> str:
        """Where the shadow of a path lies."""
        return self.folder + path

    def is_there(self, path: str) -> bool:
        """Whether there is something at a path, below our own patches."""
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def is_gone(self, path: str) -> bool:
        """Whether the user's own file of that path was removed, or its folder was."""
        while self.gone and path not in self.gone and path != os.path.dirname(path):
            path = os.path.dirname(path)
        return path in self.gone

    def reading(self, file: Any) -> Any:
        """What to read for a name."""
        path = self.path(file)
        if path is None:
            return file
        over = self.over(path)
        if self.is_there(over) or self.is_gone(path):
            return over  # which, where it is gone, is not there
        return path if os.path.isabs(file) or self.is_inside() else file

    def is_inside(self) -> bool:
        """Whether the program has gone into a folder that it made."""
        return self.getcwd().startswith(self.folder)

    def writing(self, file: Any, keeps: bool = False) -> Any:
        """What to write for a name; with what it holds, where it `keeps` that."""
        path = self.path(file)
        if path is None:
            return file
        over, parent = self.over(path), os.path.dirname(path)
        if self.is_there(self.reading(parent)):
            self.made(self.over(parent))
        new_here = not self.is_there(over) and not self.is_gone(path)
        if keeps and new_here and self.is_there(path):
            with self.open(path, "rb") as old, self.open(over, "wb") as new:
                shutil.copyfileobj(old, new)
        self.written.setdefault(path)
        return over

    def made(self, folder: str) -> None:
        """A folder of the shadow, with all above it."""
        if not self.is_there(folder):
            self.made(os.path.dirname(folder))
            self.mkdir(folder)

    def remove(self, file: Any) -> None:
        """`os.remove`, and all that is in a folder."""
        path = self.path(file)
        if path is None or not self.is_there(self.reading(file)):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(file))
        self.gone.add(path)
        over = self.over(path)
        if self.is_there(over):
            self.clear(over)

    def clear(self, over: str) -> None:
        """Remove a file or a folder of the shadow."""
        if not stat.S_ISDIR(self.stat(over).st_mode):
            self.unlink(over)
            return
        for name in self.listdir(over):
            self.clear(os.path.join(over, name))
        self.rmdir(over)

    def rename(self, source: Any, target: Any) -> None:
        """`os.rename` and `os.replace`."""
        if not self.is_there(self.reading(source)):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(source))
        self.copy(source, target)
        self.remove(source)

    def copy(self, source: Any, target: Any) -> None:
        """A file, or a folder with all that is seen in it, written under a name."""
        read = self.reading(source)
        if os.path.isdir(read):
            self.made(self.writing(target))
            for name in self.names(source):
                self.copy(os.path.join(source, name), os.path.join(target, name))
            return
        with self.open(read, "rb") as old, self.open(self.writing(target), "wb") as new:
            shutil.copyfileobj(old, new)

    def names(self, folder: Any) -> list[str]:
        """`os.listdir`, of both."""
        path = self.path(folder)
        if path is None:
            return self.listdir(folder)
        if not self.is_there(self.reading(folder)):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(folder))
        over = self.over(path)
        mine = self.listdir(over) if self.is_there(over) else []
        if self.is_gone(path) or not self.is_there(path):
            return mine
        theirs = self.listdir(path)
        kept = [n for n in theirs if os.path.join(path, n) not in self.gone]
        return list(dict.fromkeys([*kept, *mine]))
