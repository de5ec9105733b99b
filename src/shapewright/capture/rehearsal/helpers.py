"""What stands around a training loop: scalers, processes, downloads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.capture.downloads import downloads_stood_for
from shapewright.capture.rehearsal.groups import end_groups
from shapewright.capture.rehearsal.loggers import quiet
from shapewright.capture.rehearsal.scaling import scalers_stood_for
from shapewright.capture.replacement import replaced

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


@contextmanager
def helpers_stood_for(stage: Stage) -> Iterator[None]:
    """All of this module, for the time of a rehearsal."""
    with ExitStack() as stack:
        stack.enter_context(quiet(stage))
        stack.enter_context(scalers_stood_for(stage))
        stack.enter_context(processes_inline(stage))
        stack.enter_context(
            downloads_stood_for(stage.engine.assume, stage.facts.weights.into)
        )
        yield


@contextmanager
def processes_inline(stage: Stage) -> Iterator[None]:
    """Processes that torch would start run here, one after the other."""
    multi = torch.multiprocessing

    def spawn(original: Any) -> Any:
        def spawn(
            fn: Any, args: Any = (), nprocs: int = 1, join: bool = True,
            *rest: Any, **named: Any,
        ) -> Any:  # fmt: skip
            words = f"ran process 0 of {nprocs}, here"
            stage.story.happened(stage.engine, "group", words)
            if nprocs > 1:
                stage.story.skip(
                    f"{nprocs - 1} of {nprocs} processes: one was run, here"
                )
            try:
                fn(0, *args)
            finally:
                end_groups()
            return None if join else Spawned()

        return spawn

    class Process:
        def __init__(
            self, group: Any = None, target: Any = None, name: Any = None,
            args: Any = (), kwargs: Any = None, *, daemon: Any = None,
        ) -> None:  # fmt: skip
            self.target, self.args, self.kwargs = target, args, kwargs or {}
            self.name, self.daemon = name, daemon
            self.exitcode: int | None = None
            self.pid = 0

        def run(self) -> None:
            if self.target is not None:
                self.target(*self.args, **self.kwargs)

        def start(self) -> None:
            stage.story.skip("processes: they were run here, one after the other")
            try:
                self.run()
            finally:
                end_groups()
            self.exitcode = 0

        def join(self, timeout: Any = None) -> None:
            pass

        def is_alive(self) -> bool:
            return False

        def terminate(self) -> None:
            pass

        close = kill = terminate

    nowhere = lambda _: lambda *args, **kwargs: None  # noqa: E731
    with ExitStack() as stack:
        for name in ("spawn", "start_processes"):
            stack.enter_context(replaced(multi, name, spawn))
        stack.enter_context(replaced(multi, "Process", lambda _: Process))
        stack.enter_context(replaced(multi, "set_start_method", nowhere))
        stack.enter_context(
            replaced(nn.Module, "share_memory", lambda _: lambda self: self)
        )
        yield


class Spawned:
    """Processes that have ended."""

    def join(self, timeout: Any = None, grace_period: Any = None) -> bool:
        return True
