"""Fully sharded data parallelism on one rank: parameters stay whole on it.

The shapes that a program sees do not depend on sharding, since a rank gathers the whole
parameters before it uses them. What does show is the precision of
`MixedPrecisionPolicy`: a module computes in `param_dtype`, and the parameters, their
gradients and the optimizer keep their own dtype. torch's own `fully_shard` checks its
arguments, converts inputs and outputs and gives the module its class; only the groups
of sharded parameters are replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.identity import DTYPE_NAMES
from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.absent.late_imports import change_when_imported

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


GROUPS = (
    "torch.distributed.fsdp._fully_shard._fully_shard",
    "torch.distributed._composable.replicate_with_fsdp",
)
"""The modules of torch that make groups of sharded parameters."""

WRAPPER = "torch.distributed.fsdp.fully_sharded_data_parallel"
"""The module of torch with FSDP's first version."""

HANDLES = "torch.distributed.fsdp._flat_param"
DEVICE_CHECKS = (
    "_check_on_compute_device", "_check_low_precision_shard",
    "prepare_gradient_for_backward",
)  # fmt: skip
"""torch's checks of its own work; in backward passes no device is claimed."""


@contextmanager
def replace_fully_sharded(stage: RehearsalState) -> Iterator[None]:
    """Run `fully_shard`, `replicate` and FSDP as one rank, with whole parameters."""

    def change_groups(module: ModuleType, stack: ExitStack) -> None:
        for name, make in (
            ("_init_param_group", lambda _: _make_group_function(stage)),
            ("FSDPParamGroup", lambda _: _make_old_group_function(stage)),
        ):
            if name in vars(module) and not (
                name == "FSDPParamGroup" and "_init_param_group" in vars(module)
            ):
                stack.enter_context(replace_attribute(module, name, make))

    def change_wrapper(module: ModuleType, stack: ExitStack) -> None:
        owner = module.FullyShardedDataParallel
        stack.enter_context(
            replace_attribute(
                owner, "__init__", lambda original: _keep_whole(stage, original)
            )
        )

    def change_handles(module: ModuleType, stack: ExitStack) -> None:
        for name in DEVICE_CHECKS:
            if name in vars(module.FlatParamHandle):
                stack.enter_context(
                    replace_attribute(module.FlatParamHandle, name, _skip_check)
                )
        stack.enter_context(
            replace_attribute(
                module.FlatParamHandle,
                "reshard",
                lambda original: _restore_dtype(stage, original),
            )
        )

    with ExitStack() as stack:
        stack.enter_context(change_when_imported(HANDLES, change_handles))
        for name in GROUPS:
            stack.enter_context(change_when_imported(name, change_groups))
        stack.enter_context(change_when_imported(WRAPPER, change_wrapper))
        yield


def _keep_whole(stage: RehearsalState, original: Any) -> Any:
    """Return the constructor of FSDP, which shards nothing on several ranks."""

    def __init__(self: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        from torch.distributed.fsdp import ShardingStrategy

        count = torch.distributed.get_world_size() if _is_begun() else 1
        if count == 1 or args[1:]:
            original(self, module, *args, **kwargs)
            return
        asked = kwargs.get("sharding_strategy") or ShardingStrategy.FULL_SHARD
        if asked != ShardingStrategy.NO_SHARD:
            _assume_whole(stage, "FullyShardedDataParallel", count)
        kwargs["sharding_strategy"] = ShardingStrategy.NO_SHARD
        if "HYBRID" in asked.name:  # which torch checks together
            kwargs.pop("device_mesh", None)
            args = ()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*NO_SHARD.*")
            original(self, module, *args, **kwargs)

    return __init__


def _skip_check(original: Any) -> Any:
    """Return a check that accepts everything."""
    return lambda *args, **kwargs: None


def _restore_dtype(stage: RehearsalState, original: Any) -> Any:
    """Return `reshard`, after which a parameter has its own dtype again.

    A backward pass assigns `parameter.data` where no call is seen.
    """

    def reshard(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        engine, parameter = stage.engine, self.flat_param
        if not engine.known(parameter):
            return
        meta = engine.info(parameter).meta
        with torch._C.DisableTorchFunction():
            changed = meta.dtype != DTYPE_NAMES[parameter.dtype]
        if changed:
            engine.theirs.pop(id(parameter), None)
            vars(parameter).pop("_sw", None)
            engine.adopt(parameter, meta.device)

    return reshard


def _is_begun() -> bool:
    """Return whether the program has a process group."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _assume_whole(stage: RehearsalState, name: str, count: int) -> None:
    """Record that this rank keeps parameters whole that it would share out."""
    if stage.memory is not None:
        stage.memory.keeps_whole = True
    stage.engine.assume(
        f"`{name}`: this rank keeps whole parameters, of which each of {count} ranks "
        "holds a part between its uses in a real run"
    )


def _make_group_function(stage: RehearsalState) -> Callable[..., None]:
    """Return a function that replaces `_init_param_group`, of torch 2.12 and later."""

    def _init_param_group(
        state: Any, params: Sequence[nn.Parameter], modules: Any, mesh_info: Any,
        post_forward_mesh_info: Any, device: Any, shard_placement_fn: Any,
        mp_policy: Any, offload_policy: Any, **others: Any,
    ) -> None:  # fmt: skip
        if params:
            _WholeParameters(
                stage, params, modules, mesh_info, mp_policy, shard_placement_fn
            )

    return _init_param_group


def _make_old_group_function(stage: RehearsalState) -> Callable[..., None]:
    """Return a function that replaces the class of groups, before torch 2.12."""

    def make_group(
        params: Sequence[nn.Parameter], modules: Any, mesh_info: Any,
        post_forward_mesh_info: Any, device: Any, shard_placement_fn: Any,
        mp_policy: Any, offload_policy: Any,
    ) -> None:  # fmt: skip
        _WholeParameters(
            stage, params, modules, mesh_info, mp_policy, shard_placement_fn
        )

    return make_group


class _WholeParameters:
    """The parameters of one call of `fully_shard`, which all are here.

    While a module computes, its parameters are those of `param_dtype`. Each module that
    owns some has hooks of its own, since checkpointed layers run again in the backward
    pass; they get the same tensors again: a checkpoint counts what it computes.
    """

    def __init__(
        self, stage: RehearsalState, params: Sequence[nn.Parameter],
        modules: Sequence[nn.Module], mesh_info: Any, policy: Any, placement_of: Any,
    ) -> None:  # fmt: skip
        self.stage = stage
        self.params = params
        self.dtype = policy.param_dtype
        self.is_checked = False
        count = getattr(mesh_info, "shard_mesh_size", 1)
        _check_parameters(params, count, placement_of)
        if count > 1:
            _assume_whole(stage, "fully_shard", count)
        self.places = _find_places(params, modules)
        rank = getattr(mesh_info, "shard_mesh_rank", 0)
        for parameter in params:
            _add_methods(parameter, count, rank, getattr(mesh_info, "mesh", None))
        self.depth = 0
        self.kept: dict[tuple[int, str], nn.Parameter] = {}
        self.cast: dict[nn.Parameter, torch.Tensor] = {}
        for module in {**dict.fromkeys(modules), **dict.fromkeys(self.places)}:
            module.register_forward_pre_hook(self._begin)
            module.register_forward_hook(self._end, always_call=True)

    def _begin(self, module: nn.Module, args: Any) -> None:
        """Put parameters of `param_dtype` in place of the program's."""
        self._check_once()
        self.depth += 1
        if self.depth > 1 or self.dtype is None:
            return
        if torch._C._current_graph_task_id() < 0:  # not in a backward pass
            self.cast = {}
        with self.stage.engine.suspend_recording():
            for owner, names in self.places.items():
                for name in names:
                    parameter: Any = owner._parameters[name]
                    if not parameter.is_floating_point():
                        continue
                    if parameter not in self.cast:
                        self.cast[parameter] = parameter.to(self.dtype)
                    self.kept[id(owner), name] = parameter
                    _set_parameter(owner, name, self.cast[parameter])

    def _end(self, module: nn.Module, args: Any, result: Any) -> None:
        """Put the program's parameters back."""
        self.depth = max(self.depth - 1, 0)
        if self.depth:
            return
        for owner, names in self.places.items():
            for name in names:
                parameter = self.kept.pop((id(owner), name), None)
                if parameter is not None:
                    _set_parameter(owner, name, parameter)

    def _check_once(self) -> None:
        """Refuse what torch refuses in the first forward pass."""
        if self.is_checked:
            return
        self.is_checked = True
        missing = [
            name
            for owner, names in self.places.items()
            for name in names
            if getattr(owner, name).device.type == "meta"
        ]
        if missing:
            raise RuntimeError(
                "FSDP parameters should be materialized from meta device before "
                "training, but the following were still on meta device: "
                f"{missing}\nFor example, call module.to_empty(device) to materialize "
                "to device and call module.reset_parameters() on each module to "
                "initialize values."
            )
        dtypes = {value.dtype for value in self.params if value.requires_grad}
        if len(dtypes) > 1:
            raise AssertionError(
                f"FSDP expects uniform original parameter dtype but got {dtypes}"
            )


def _add_methods(parameter: Any, count: int, rank: int, mesh: Any) -> None:
    """Give a parameter what programs ask of one that is sharded along its first dim."""

    def to_local(**kwargs: Any) -> torch.Tensor:
        size = -(-parameter.shape[0] // count)
        start = min(rank * size, parameter.shape[0])
        stop = min(start + size, parameter.shape[0])
        part: torch.Tensor = parameter[start:stop]
        return part

    def full_tensor(**kwargs: Any) -> Any:
        return parameter

    parameter.to_local, parameter.full_tensor = to_local, full_tensor
    parameter.device_mesh = mesh


def _set_parameter(owner: nn.Module, name: str, value: Any) -> None:
    """Replace a parameter of a module, also in the list that recurrent layers keep."""
    owner._parameters[name] = value
    names = getattr(owner, "_flat_weights_names", None)
    if names is not None and name in names:
        flat: Any = owner._flat_weights
        flat[names.index(name)] = value


def _find_places(
    params: Sequence[nn.Parameter], modules: Sequence[nn.Module]
) -> dict[nn.Module, list[str]]:
    """Return the modules that own some of the parameters, with their names."""
    wanted = set(params)
    places: dict[nn.Module, list[str]] = {}
    for module in modules:
        for owner in module.modules():
            for name, parameter in owner._parameters.items():
                if parameter in wanted and name not in places.get(owner, ()):
                    places.setdefault(owner, []).append(name)
    return places


def _check_parameters(
    params: Sequence[nn.Parameter], count: int, placement_of: Any
) -> None:
    """Refuse parameters that torch refuses to shard."""
    for parameter in params:
        shape = parameter.shape
        if not parameter.is_contiguous():
            raise NotImplementedError(
                "FSDP does not support non-contiguous parameters yet: "
                f"param.shape={shape} param.stride()={parameter.stride()}"
            )
        placement = placement_of(parameter) if placement_of is not None else None
        dim = getattr(getattr(placement, "placement", placement), "dim", 0)
        dim = dim + len(shape) if dim < 0 else dim
        if dim >= len(shape):
            raise AssertionError(
                f"Shard dim {dim} is invalid for {len(shape)}D tensor: {shape}"
            )
        if dim > 0 and shape[dim] % count:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {dim}: {shape} "
                f"(world size: {count})"
            )
