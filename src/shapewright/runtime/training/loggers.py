"""Silence loggers and progress bars, and provide stand-ins for missing ones."""

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
"""Environment that silences loggers and bars, and does not hide errors."""

LOGGERS = ("wandb", "tensorboardX", "mlflow", "comet_ml", "visdom", "neptune", "aim",
           "clearml", "swanlab", "matplotlib", "seaborn", "plotly", "tqdm")  # fmt: skip
"""Modules that only report a run, or plot it; missing ones get stand-ins."""


class _Anything(type):
    """A metaclass of classes that have every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return cls()


class _Nothing(metaclass=_Anything):
    """An object that accepts every call and returns itself."""

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


class _Bar(_Nothing):
    """A stand-in for a progress bar, which yields what it is given."""

    def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any) -> None:
        self.given = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)


def _make_range(*args: int, **kwargs: Any) -> _Bar:
    """Return a bar over a range, as `tqdm.trange` does."""
    return _Bar(range(*args))


def _make_plots(*args: Any, **kwargs: Any) -> tuple[_Nothing, _Nothing]:
    """Return a figure and its axes, as `plt.subplots` does."""
    return _Nothing(), _Nothing()


SPECIAL = {"tqdm": _Bar, "trange": _make_range, "subplots": _make_plots}
"""Functions of these modules whose results the program goes on with."""


class _Silent(types.ModuleType):
    """A stand-in for a logging module, which ignores all calls."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in SPECIAL:
            return SPECIAL[name]
        return _Nothing if name[:1].isupper() else _Nothing()


class _Finder:
    """An import finder that provides missing loggers to the program's own imports.

    A library that tests for a logger does not find it.
    """

    def __init__(self, stage: RehearsalState) -> None:
        self.stage = stage
        self.made: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a logger's stand-in if the program itself imports it."""
        if name.partition(".")[0] not in LOGGERS or not self.is_asked_by_program():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def is_asked_by_program(self) -> bool:
        """Return whether the program itself runs the current import."""
        frame: Any = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            if frame.f_code.co_filename.endswith(("importlib.util>", "util.py")):
                return False  # it only asks
            frame = frame.f_back
        return frame is not None and self.stage.owns(frame.f_code.co_filename)

    def create_module(self, spec: Any) -> Any:
        """Return a silent module with the requested name."""
        self.made.append(spec.name)
        return _Silent(spec.name)

    def exec_module(self, module: Any) -> None:
        """Do nothing, since the stand-in has no code."""


@contextmanager
def silence_loggers(stage: RehearsalState) -> Iterator[None]:
    """Silence all loggers."""
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
        _restore_name(sys.modules, board, there)
        _restore_name(vars(torch.utils), "tensorboard", had)
        for name, value in before.items():
            _restore_name(os.environ, name, value)


def _restore_name(names: Any, name: str, value: Any) -> None:
    """Restore a name to its value, or remove it."""
    if value is None:
        names.pop(name, None)
    else:
        names[name] = value
