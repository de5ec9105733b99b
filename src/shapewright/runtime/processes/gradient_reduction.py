"""What `DistributedDataParallel` waits for: a gradient of each parameter, between two
calls of the module, as in `Reducer` of torch's reducer.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new"
    " one. This error indicates that your module has parameters that were not used in"
    " producing loss. You can enable unused parameter detection by passing the keyword"
    " argument `find_unused_parameters=True` to"
    " `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward`"
    " function outputs participate in calculating loss. \nIf you already have done the"
    " above, then the distributed data parallel module wasn't able to locate the output"
    " tensors in the return value of your module's `forward` function. Please include"
    " the loss function and the structure of the return value of `forward` of your"
    " module when reporting this issue (e.g. list, dict, iterable).\nParameters which"
    " did not receive grad for rank {rank}: {names}\nParameter indices which did not"
    " receive grad for rank {rank}: {indices}"
)
"""What torch says, with `TORCH_DISTRIBUTED_DEBUG=DETAIL`."""


class Reduction:
    """The gradients that a wrapper awaits from a backward pass, by name of parameter.

    A call of the module awaits all of them. Once one has come, the next call is refused
    until the others are there: torch sends them together. Where a call of the module
    read values that are not known, it may have left out what a real one uses, and
    nothing is refused. `end` is the end of the run.
    """

    def __init__(
        self,
        engine: Engine,
        rank: int,
        parameters: Mapping[str, Any],
        end: ExitStack,
    ) -> None:
        self.engine = engine
        self.rank = rank
        self.names: list[str] = []
        self.missing: set[str] = set()
        self.is_begun = False
        self.assumed: int | None = None
        with torch._C.DisableTorchFunction():
            for name, parameter in parameters.items():
                self.names.append(name)
                hook = partial(self._note_gradient, name)
                handle = parameter.register_post_accumulate_grad_hook(hook)
                end.callback(handle.remove)

    def begin_call(self) -> None:
        """Refuse a call of the module if gradients of the last one are missing."""
        self.assumed = self._count_assumptions()
        if not self.is_begun or not torch.is_grad_enabled():
            return
        lacking = [name for name in self.names if name in self.missing]
        indices = [str(self.names.index(name)) for name in lacking]
        raise RuntimeError(
            UNFINISHED.format(
                rank=self.rank, names=", ".join(lacking), indices=" ".join(indices)
            )
        )

    def end_call(self) -> None:
        """Await a gradient of each parameter, after a call whose gradients are sent."""
        if torch.is_grad_enabled() and self.assumed == self._count_assumptions():
            self.missing = {*self.names}

    def _note_gradient(self, name: str, parameter: Any) -> None:
        """Note that a parameter has its gradient."""
        if self.missing:
            self.missing.discard(name)
            self.is_begun = bool(self.missing)

    def _count_assumptions(self) -> int:
        """Return how many values were assumed so far, and calls refused."""
        failures = self.engine.failures or ()
        return sum(self.engine.assumptions.values()) + len(failures)
