"""Process groups: this process is one rank, and no connection to others is made."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlparse

import torch
from torch import nn

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.processes.collectives import Done, Ranks

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


TOLD = {
    "RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0", "ROLE_RANK": "0",
    "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "ROLE_WORLD_SIZE": "1",
    "GROUP_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
    "ROLE_NAME": "default", "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
}  # fmt: skip
"""Environment of a launched process; a script that tests for it is not launched."""

ASKS = "<frozen _collections_abc>"
"""The file in which `get`, `in` and `pop` test whether a name exists."""


@contextmanager
def _claim_launch(tell: Callable[[str], None]) -> Iterator[None]:
    """Provide `os.environ["RANK"]`; `os.environ.get("RANK")` still returns its default.

    Only names that are not set are answered. `tell` is called with each.
    """
    environ: Any = os.environ
    plain = type(environ)

    class Launched(plain):  # type: ignore[misc, valid-type]
        def __getitem__(self, key: str) -> str:
            try:
                value: str = plain.__getitem__(self, key)
                return value
            except KeyError:
                if key not in TOLD or sys._getframe(1).f_code.co_filename == ASKS:
                    raise
            tell(key)
            return TOLD[key]

    environ.__class__ = Launched
    try:
        yield
    finally:
        environ.__class__ = plain


LONG, NCCL = timedelta(minutes=30), timedelta(minutes=10)


@contextmanager
def replace_process_groups(stage: RehearsalState) -> Iterator[None]:
    """Run `torch.distributed` as one rank, unless a process group exists already."""
    dist = torch.distributed

    def tell(name: str) -> None:
        words = "as torchrun sets it: ran as rank 0 of 1"
        stage.story.note_event(stage.engine, "group", words).shapes.setdefault(name)

    with ExitStack() as stack:
        stack.enter_context(_claim_launch(tell))
        if not dist.is_available() or dist.is_initialized():
            yield
            return
        c10d: Any = dist.distributed_c10d
        stack.callback(end_groups)
        for name in ("_backend", "_default_pg_init_method"):
            if name in vars(c10d):
                stack.callback(setattr, c10d, name, vars(c10d)[name])
        stack.callback(setattr, sys, "excepthook", sys.excepthook)
        for name, make in _make_group_functions(stage).items():
            for owner in (c10d, dist, getattr(dist, "device_mesh", dist)):
                if name in vars(owner):
                    stack.enter_context(replace_attribute(owner, name, make))
        synced: Any = torch.nn.modules.batchnorm
        stack.enter_context(
            replace_attribute(synced, "sync_batch_norm", lambda _: _Normalized)
        )
        yield


def end_groups() -> None:
    """Destroy the process groups that a program leaves behind."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        world = torch.distributed.group.WORLD
        if isinstance(world, Ranks):
            with suppress(Exception):
                torch.distributed.destroy_process_group()


def _make_group_functions(stage: RehearsalState) -> dict[str, Callable[[Any], Any]]:
    """Return makers of stand-ins for functions of `torch.distributed`, by name."""
    here: Any = torch.distributed

    def begun(original: Any) -> Any:
        def init_process_group(*args: Any, **kwargs: Any) -> None:
            bound = inspect.signature(original).bind(*args, **kwargs)
            bound.arguments.setdefault("timeout", LONG)
            original(*bound.args, **bound.kwargs)
            rank, size = here.get_rank(), here.get_world_size()
            words = f"ran as rank {rank} of {size}"
            stage.story.note_event(stage.engine, "group", words)
            if size > 1:
                stage.engine.assume(
                    "the other ranks are assumed to hold tensors as this one does"
                )

        return init_process_group

    def met(original: Any) -> Any:
        def rendezvous(
            url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
        ) -> Any:
            parts = urlparse(url)
            named = dict(parse_qsl(parts.query))
            if parts.scheme == "env":
                named.setdefault("rank", os.environ.get("RANK", "0"))
                named.setdefault("world_size", os.environ.get("WORLD_SIZE", "1"))
            rank = int(named.get("rank", -1)) if rank < 0 else rank
            if world_size < 0:
                world_size = int(named.get("world_size", -1))
            if rank < 0 or world_size < 0:  # which torch has words for
                return original(url, rank, world_size, **kwargs)
            return iter([(here.HashStore(), rank, world_size)])

        return rendezvous

    def made(original: Any) -> Any:
        def new_group(*args: Any, **kwargs: Any) -> Any:
            return _make_group(stage, inspect.signature(original).bind(*args, **kwargs))

        return new_group

    def world(group: Any) -> int:
        return int(here.get_world_size(group))

    def gathered(original: Any) -> Any:
        def all_gather_object(
            object_list: list[Any], obj: Any, group: Any = None
        ) -> None:
            for at in range(world(group)):
                object_list[at] = obj

        return all_gather_object

    def gathered_at(original: Any) -> Any:
        def gather_object(
            obj: Any, object_gather_list: list[Any] | None = None,
            dst: int | None = None, group: Any = None, group_dst: int | None = None,
        ) -> None:  # fmt: skip
            if here.get_rank() != (dst or group_dst or 0):
                return
            if object_gather_list is None:
                raise ValueError(
                    "Argument ``gather_list`` must be specified on destination rank."
                )
            for at in range(world(group)):
                object_gather_list[at] = obj

        return gather_object

    def scattered(original: Any) -> Any:
        def scatter_object_list(
            scatter_object_output_list: list[Any],
            scatter_object_input_list: list[Any] | None = None,
            *args: Any, **kwargs: Any,
        ) -> None:  # fmt: skip
            if not scatter_object_output_list:
                raise ValueError(
                    "Expected argument scatter_object_output_list to be a list of size "
                    "at least 1."
                )
            objects, rank = scatter_object_input_list or [], here.get_rank()
            if rank < len(objects):
                scatter_object_output_list[0] = objects[rank]

        return scatter_object_list

    nothing = lambda _: lambda *args, **kwargs: None  # noqa: E731
    there = lambda _: lambda *args, **kwargs: True  # noqa: E731

    def waited(original: Any) -> Any:
        def barrier(
            group: Any = None, async_op: bool = False, *args: Any, **_: Any
        ) -> Any:
            world(group)  # refused before there is a group
            return Done() if async_op else None

        return barrier

    def timed(original: Any) -> Any:
        def get_default_timeout(backend: Any) -> timedelta:
            if backend == "nccl":  # of which torch for CPUs warns
                return NCCL
            limit: timedelta = original(backend)
            return limit

        return get_default_timeout

    def exchanged(original: Any) -> Any:
        return lambda operations: [Done() for _ in operations]

    def local(original: Any) -> Any:
        def get_node_local_rank(fallback_rank: int | None = None) -> int:
            if fallback_rank is not None:
                return int(original(fallback_rank))
            return int(os.environ["LOCAL_RANK"])

        return get_node_local_rank

    return {
        "init_process_group": begun, "rendezvous": met,
        "_new_process_group_helper": made, "all_gather_object": gathered,
        "gather_object": gathered_at, "scatter_object_list": scattered,
        "broadcast_object_list": nothing, "send_object_list": nothing,
        "recv_object_list": nothing, "monitored_barrier": nothing, "barrier": waited,
        "batch_isend_irecv": exchanged, "_get_default_timeout": timed,
        "get_node_local_rank": local,
        "is_gloo_available": there,
        "is_nccl_available": lambda _: lambda: stage.has_gpu,
    }  # fmt: skip


def _make_group(stage: RehearsalState, bound: Any) -> tuple[Any, Any]:
    """Return the new process group of `_new_process_group_helper`, and its store."""
    arguments = bound.arguments
    c10d: Any = torch.distributed.distributed_c10d
    world = c10d._world
    ranks, name = arguments["global_ranks_in_group"], arguments["group_name"]
    if name in world.pg_names.values():
        raise ValueError(
            "The specified group name has already been created, please use a different "
            "group name"
        )
    if ranks and c10d._get_default_group().rank() not in ranks:
        return c10d.GroupMember.NON_GROUP_MEMBER, None
    backend = arguments["backend"]
    if backend == c10d.Backend.UNDEFINED:
        backend = c10d.Backend("nccl" if stage.has_gpu else "gloo")
    group = Ranks(
        arguments["group_rank"], arguments["group_size"], name, str(backend), stage
    )
    tag = arguments.get("pg_tag")
    tag = f"user:{tag}" if tag else f"ptd:{name}"
    world.pg_map[group] = backend, arguments["store"]
    world.pg_names[group] = name
    world.pg_backend_config[group] = str(c10d.BackendConfig(backend))
    world.pg_to_tag[group] = tag
    for group_tag in ("", tag):
        world.tags_to_pg.setdefault(group_tag, []).append(group)
    c10d._register_process_group(name, group)
    return group, arguments["store"]


class _Normalized:
    """A stand-in for the function of `SyncBatchNorm` that normalizes over one rank."""

    @staticmethod
    def apply(
        x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float,
        momentum: float, *group: Any,
    ) -> Any:  # fmt: skip
        return nn.functional.batch_norm(x, mean, var, weight, bias, True, momentum, eps)
