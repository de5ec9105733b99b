"""Loggers and bars: they log to nowhere, and stand where they are missing."""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState

QUIET = {
    "WANDB_MODE": "disabled", "WANDB_SILENT": "true", "MPLBACKEND": "Agg",
    "TQDM_DISABLE": "1", "TOKENIZERS_PARALLELISM": "false", "COMET_MODE": "DISABLED",
    "MLFLOW_TRACKING_URI": "", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HYDRA_FULL_ERROR": "1",
}  # fmt: skip
"""Environment in which loggers and bars keep still, and errors are not hidden."""

LOGGERS = ("wandb", "tensorboardX", "mlflow", "comet_ml", "visdom", "neptune", "aim",
           "clearml")  # fmt: skip
"""Modules that only tell others of a run; where they are missing they are stood for."""


class _Anything(type):
    """Classes that have whatever is asked of them."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return cls()


class _Nothing(metaclass=_Anything):
    """Takes every call, and gives itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __getitem__(self, key: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Silent(types.ModuleType):
    """A module that is not there, or that would write: it only listens."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing if name[:1].isupper() else _Nothing()


class _Finder:
    """Finds missing loggers for the program's own imports.

    A library that asks whether one is there, is told that it is not.
    """

    def __init__(self, stage: RehearsalState) -> None:
        self.stage = stage
        self.made: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The stand-in of a logger, where the program's own text imports it."""
        if name.partition(".")[0] not in LOGGERS or not self.is_asked_by_program():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def is_asked_by_program(self) -> bool:
        """Whether the nearest frame that is not Python's import is the program's."""
        frame: Any = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            if frame.f_code.co_filename.endswith(("importlib.util>", "util.py")):
                return False  # it only asks
            frame = frame.f_back
        return frame is not None and self.stage.story.holds(frame.f_code.co_filename)

    def create_module(self, spec: Any) -> Any:
        """Nothing but the name."""
        self.made.append(spec.name)
        return _Silent(spec.name)

    def exec_module(self, module: Any) -> None:
        """Nothing runs."""


@contextmanager
def quiet(stage: RehearsalState) -> Iterator[None]:
    """Loggers log to nowhere."""
    before = {name: os.environ.get(name) for name in QUIET}
    os.environ.update(QUIET)
    finder = _Finder(stage)
    sys.meta_path.append(finder)
    board = "torch.utils.tensorboard"
    there, had = sys.modules.get(board), vars(torch.utils).get("tensorboard")
    sys.modules[board] = torch.utils.tensorboard = _Silent(board)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)
        _put_back(sys.modules, board, there)
        _put_back(vars(torch.utils), "tensorboard", had)
        for name, value in before.items():
            _put_back(os.environ, name, value)


def _put_back(names: Any, name: str, value: Any) -> None:
    """Let a name be what it was, or nothing."""
    if value is None:
        names.pop(name, None)
    else:
        names[name] = value
