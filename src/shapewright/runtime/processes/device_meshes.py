"""Device meshes of which this process is one rank.

A mesh is torch's own: it only makes process groups, of which this process is a rank.
Programs that shard data over its dims, or that call collectives themselves, see true
shapes. A mesh of one rank changes no module. What shards tensors over several ranks
inside torch (`DTensor`, pipelines) is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch import nn

from shapewright.engine.replacement import make_resembling, replace_attribute
from shapewright.runtime.absent.late_imports import change_when_imported

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


FOLDER = "torch.distributed.tensor.parallel"


@contextmanager
def replace_mesh_parallelism(stage: RehearsalState) -> Iterator[None]:
    """Run tensor and pipeline parallelism on one rank; refuse them on several."""

    def change_tensors(module: ModuleType, stack: ExitStack) -> None:
        stack.enter_context(
            replace_attribute(module.DTensor, "__new__", _refuse_several)
        )

    plans: dict[str, Any] = {}  # torch's own function, and ours

    def change_plans(module: ModuleType, stack: ExitStack) -> None:
        name = "parallelize_module"
        if not plans:
            plans["old"] = original = vars(module)[name]
            plans["new"] = make_resembling(original, _skip_one_rank)
        stack.callback(setattr, module, name, plans["old"])
        setattr(module, name, plans["new"])

    def change_pipelines(module: ModuleType, stack: ExitStack) -> None:
        owner = module._PipelineStageBase
        stack.enter_context(replace_attribute(owner, "__init__", _refuse_stages))

    with ExitStack() as stack:
        for name, change in (
            ("torch.distributed.tensor._api", change_tensors),
            (f"{FOLDER}.api", change_plans),
            (FOLDER, change_plans),
            ("torch.distributed.pipelining.stage", change_pipelines),
        ):
            stack.enter_context(change_when_imported(name, change))
        yield


def _make_refusal(what: str, count: int) -> NotImplementedError:
    """Return the error for tensors or layers that are shared out over ranks."""
    return NotImplementedError(
        f"shapewright does not rehearse {what} over {count} ranks yet: set the degrees "
        "of tensor, sequence, context and pipeline parallelism to 1; data parallelism "
        "(`fully_shard`, FSDP, DDP) may have any"
    )


def _refuse_several(original: Any) -> Any:
    """Return `DTensor.__new__` without tensors on several ranks."""
    make = getattr(original, "__func__", original)

    def __new__(cls: Any, local_tensor: Any, spec: Any, *args: Any, **kw: Any) -> Any:
        count = spec.mesh.size()
        if count > 1:
            raise _make_refusal("`DTensor`", count)
        return make(cls, local_tensor, spec, *args, **kw)

    return __new__


def _skip_one_rank(original: Any) -> Any:
    """Return `parallelize_module`, which leaves modules as they are on one rank."""

    def parallelize_module(
        module: nn.Module, device_mesh: Any = None, *args: Any, **kwargs: Any
    ) -> nn.Module:
        if device_mesh is not None and device_mesh.size() == 1:
            return module
        if device_mesh is not None:
            raise _make_refusal("`parallelize_module`", device_mesh.size())
        result: nn.Module = original(module, device_mesh, *args, **kwargs)
        return result

    return parallelize_module


def _refuse_stages(original: Any) -> Any:
    """Return the constructor of pipeline stages, without several ranks."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if self.group_size > 1:
            raise _make_refusal("`PipelineStage`", self.group_size)

    return __init__
