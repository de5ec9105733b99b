"""spmd_types: how tensors lie on the axes of a mesh. Nothing of it is checked here.

On an axis of one rank a collective returns its tensor; on several ranks one whose
result depends on both types is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from torch import Tensor

from shapewright.engine.absence import NotHere

SOURCE = "signatures of https://github.com/meta-pytorch/spmd_types, 0.2"
VERSION = "0.2.3"


class PerMeshAxisLocalSpmdType(Enum):
    """How a tensor lies on an axis: replicated, invariant, varying or partial."""

    R = "R"
    I = "I"  # noqa: E741
    V = "V"
    P = "P"

    def __repr__(self) -> str:
        return self.value

    def backward_type(self) -> PerMeshAxisLocalSpmdType:
        """Return how its gradient lies."""
        kinds = PerMeshAxisLocalSpmdType
        return {kinds.R: kinds.P, kinds.P: kinds.R}.get(self, self)


@dataclass(frozen=True)
class Shard:
    """A tensor of which each rank has a part along a dim."""

    dim: int

    def __repr__(self) -> str:
        return f"S({self.dim})"

    def backward_type(self) -> Shard:
        """Return how its gradient lies."""
        return self


class PartitionSpec(tuple[Any, ...]):
    """The axes that shard each dim of a tensor."""

    def __new__(cls, *args: Any) -> PartitionSpec:
        """Return the axes of the dims."""
        return super().__new__(cls, args)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"


@dataclass
class SpmdType:
    """How a tensor lies on all axes."""

    local_type: dict[Any, Any]
    partition_spec: PartitionSpec | None = None


class SpmdTypeError(RuntimeError):
    """Raised where a tensor lies otherwise than is said."""


class _Region(ContextDecorator):
    """A block or a function in which types are not checked, as nowhere here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


_MESHES: list[Any] = []
"""The meshes of the blocks that are entered, by whose names an axis is found."""


class _MeshRegion(_Region):
    """A block in which names are those of a mesh's axes."""

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh

    def __enter__(self) -> None:
        _MESHES.append(self.mesh)

    def __exit__(self, *args: object) -> None:
        _MESHES.pop()


def _count_ranks(axis: Any) -> int:
    """Return the number of ranks of a process group, or of an axis by its name."""
    if not isinstance(axis, str):
        return int(axis.size())
    for mesh in reversed(_MESHES):
        names = getattr(mesh, "mesh_dim_names", None) or ()
        if axis in names:
            return int(mesh.size(names.index(axis)))
    return 1


def _return_first(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a tensor, of which another type is said."""
    return tensor


def _return_function(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a decorator that leaves a function as it is."""
    return lambda function: function


def _return_false(*args: Any, **kwargs: Any) -> bool:
    return False


def _return_none(*args: Any, **kwargs: Any) -> None:
    """Return nothing."""


def _make_empty(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    return {}


def _make_collective(name: str) -> Callable[..., Any]:
    """Return a collective on an axis, which changes nothing on one rank."""

    def collective(x: Tensor, axis: Any, *args: Any, **kwargs: Any) -> Tensor:
        count = _count_ranks(axis)
        if count > 1:
            raise NotHere(
                f"`spmd_types.{name}` over {count} ranks needs the package: install "
                "`spmd_types`, or set the degree of that axis to 1"
            )
        dtype = kwargs.get("out_dtype")
        return x if dtype is None else x.to(dtype)

    collective.__name__ = collective.__qualname__ = name
    return collective


_KINDS = {
    name: getattr(PerMeshAxisLocalSpmdType, kind)
    for kind, names in {
        "R": ("R", "Replicate"), "I": ("I", "Invariant"), "V": ("V", "Varying"),
        "P": ("P", "Partial"),
    }.items()
    for name in names
}  # fmt: skip
_TYPES = {
    **_KINDS, "S": Shard, "Shard": Shard, "PartitionSpec": PartitionSpec,
    "SpmdType": SpmdType, "SpmdTypeError": SpmdTypeError,
    "PerMeshAxisLocalSpmdType": PerMeshAxisLocalSpmdType,
    "PerMeshAxisSpmdType": PerMeshAxisLocalSpmdType | Shard,
    "PerMeshAxisSpmdTypes": dict, "LocalSpmdType": dict,
}  # fmt: skip
_SAYINGS = (
    "assert_type", "assert_local_type", "assert_type_like", "assert_local_type_like",
    "mutate_type", "reinterpret_mesh", "register_autograd_function",
    "register_local_autograd_function",
)  # fmt: skip
_RUNTIME: dict[str, Any] = {
    **dict.fromkeys(_SAYINGS, _return_first),
    "local_map": _return_function, "register_decomposition": _return_function,
    "local": _Region, "no_typecheck": _Region, "trace": _Region,
    "has_local_type": _return_false, "get_local_type": _make_empty,
    "get_partition_spec": _return_none,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {
        **_TYPES, **_RUNTIME,
        **{
            name: _make_collective(name)
            for name in ("all_gather", "all_reduce", "all_to_all", "redistribute",
                         "reduce_scatter", "unshard", "convert", "reinterpret",
                         "invariant_to_replicate", "shard")
        },
        "set_current_mesh": _MeshRegion, "current_mesh": _return_none,
        "is_type_checking": _return_false, "TYPE_CHECKING": False,
    },
    "types": _TYPES, "runtime": _RUNTIME, "checker": {"typecheck": _Region},
}  # fmt: skip
