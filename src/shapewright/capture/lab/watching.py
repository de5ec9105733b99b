"""Values of small tensors that the calls of a run get: what a record does not keep.

A `Watch` is given to a run that is to be drawn afterwards. Other runs pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import nests
from shapewright.capture.settling import arguments_of, failed
from shapewright.trace.op import Op

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine
    from shapewright.capture.planning import Plan

MOST = 4096
"""Elements up to which a tensor's values are kept."""
IN_ALL = 1 << 22
"""Elements that are kept of one run."""


class Watch:
    """The values that the ops of the last run got, by op and place among its inputs."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.values: dict[int, dict[int, Any]] = {}
        self.left = IN_ALL

    def known_of(self, op: Op, ops: Sequence[Op]) -> dict[int, Any]:
        """The values of an op's inputs, where `ops` are those of the run watched."""
        engine = self.engine
        if engine is None or len(engine.events) != len(ops):
            return {}
        return self.values.get(op.index, {})

    def __call__(self, plan: Plan) -> Plan:
        """The plan of a function, its calls with their values kept."""

        def watched(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
            if engine is not self.engine:
                self.engine, self.values, self.left = engine, {}, IN_ALL
            before = len(engine.events)
            given = nests.tensors((args, kwargs or {}))
            found = self.values_of(engine, given) if engine.recording else {}
            try:
                return plan(engine, func, args, kwargs)
            except Exception as error:
                if error is engine.error and len(engine.events) == before:
                    infos = [engine.info(tensor) for tensor in given]
                    named = arguments_of(engine, args, kwargs or {})
                    failed(engine, func, named, infos, error)
                raise
            finally:
                if found and len(engine.events) == before + 1:
                    self.values[before] = found
                    self.left -= sum(given[at].numel() for at in found)

        return watched

    def values_of(self, engine: Engine, given: list[torch.Tensor]) -> dict[int, Any]:
        """The known values among the tensors of a call, by their place."""
        found: dict[int, Any] = {}
        with torch._C.DisableTorchFunction():
            for at, tensor in enumerate(given):
                info = engine.info(tensor)
                storage = info.storage
                if (
                    not storage.known
                    or storage.assumed
                    or info.meta.layout != "strided"
                ):
                    continue
                if 0 < tensor.numel() <= min(MOST, self.left):
                    found[at] = engine.value_of(tensor).tolist()
        return found
