"""The table of what a run knows of every tensor, filled when first seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Buffer, Parameter

from shapewright.engine.identity import (
    BLANK,
    FROM_FILE,
    THEIRS,
    VALUED,
    Info,
    Storage,
    count_elements,
    intern_meta,
    is_whole,
    make_opaque_meta,
)
from shapewright.engine.memo import Memo
from shapewright.engine.private import (
    UninitializedTensor,
    is_transformed,
    suspend_transforms,
    unwrapped,
)
from shapewright.engine.values.data_values import describe_data

if TYPE_CHECKING:
    from shapewright.record.data_values import DataValues
    from shapewright.record.ops import Basis

Tensor = torch.Tensor
STRIDED = torch.strided
COPIED = frozenset({"sparse_coo", "sparse_csr", "sparse_csc", "nested"})


class Life:
    """An object that all tensors of a run hold, so that its references count them."""

    __slots__ = ()


class SeenTensors:
    """The tensors of a run: their metadata, storages and stand-ins.

    The `Info` of a tensor created by the run is on the tensor, of others in a table.
    """

    memo: Memo
    graph: bool
    home: str
    known_limit: int
    held_limit: int
    theirs: dict[int, tuple[Tensor, Info]]
    their_storages: dict[int, Storage]
    unknown_ids: set[int]
    reshaped: bool
    holding: bool
    met: list[Info]
    life: Life
    assumptions: dict[tuple[str, Any], int]
    stand_ins: dict[tuple[str, Any], dict[tuple[str, Basis], int]]
    looks_at_data: bool
    data_values: dict[int, DataValues]

    def info(self, tensor: Tensor) -> Info:
        """Return the `Info` of a tensor, creating it when the tensor is first seen."""
        info: Info | None = getattr(tensor, "_sw", None)
        if info is not None:
            return info
        pair = self.theirs.get(id(tensor))
        return pair[1] if pair is not None else self.adopt(tensor)

    def known(self, tensor: Tensor) -> bool:
        """Return whether the tensor was seen before."""
        return getattr(tensor, "_sw", None) is not None or id(tensor) in self.theirs

    def adopt(self, tensor: Tensor, device: str | None = None) -> Info:
        """Register a tensor that no recorded call returned."""
        with torch._C.DisableTorchFunction():
            kind = type(tensor)
            if (
                (kind is Parameter or kind is Tensor)
                and tensor.is_meta
                and tensor.layout is STRIDED
                and not (tensor.is_nested or tensor.is_quantized)
                and not is_transformed(tensor)
            ):
                info = self.add_plain(tensor, device or self.home)
            else:
                info = self.first_sight(tensor, device)
            if not self.holding and tensor.is_meta:
                self.tell(tensor, info)
                return info
        self.theirs[id(tensor)] = (tensor, info)
        return info

    def add_plain(self, tensor: Tensor, claim: str) -> Info:
        """Create the info of a data-free tensor quickly; meta models have thousands."""
        rg = tensor.requires_grad
        meta = intern_meta(self.memo.metas, tensor, claim, rg)
        key = tensor.untyped_storage()._cdata
        storage = self.their_storages.get(key)
        if storage is None:
            storage = self.their_storages[key] = Storage(claim)
        info = Info(meta, storage, BLANK)
        if rg:
            if tensor.grad_fn is not None:
                info.grad_fn = tensor.grad_fn.name()
            if not self.graph:
                info.twin = tensor.detach()
        return info

    def recall(self, seen: dict[int, tuple[Tensor, Info]]) -> None:
        """Adopt the infos of unchanged tensors from an earlier run of the program."""
        self.theirs.update(seen)
        with torch._C.DisableTorchFunction():
            for tensor, info in seen.values():
                self.their_storages[tensor.untyped_storage()._cdata] = info.storage
                if info.kind == BLANK and info.meta.requires_grad and not self.graph:
                    info.twin = tensor.detach()

    def get_unwritten(self) -> dict[int, tuple[Tensor, Info]]:
        """Return parameters and data-free buffers whose infos a next run may reuse."""
        return {
            key: (tensor, info)
            for key, (tensor, info) in self.theirs.items()
            if (info.kind == BLANK or isinstance(tensor, Parameter))
            and not (info.storage.known or info.storage.viewed)
            and info.meta.layout == "strided"
            and info.grad_fn is None
            and not self.reshaped
        }

    def meet(self, tensor: Tensor, mine: bool = False) -> None:
        """Register a parameter, buffer or input before the run.

        Claims from when it was built or fed stay valid; its values are written only
        if it is `mine`.
        """
        info: Info | None = getattr(tensor, "_sw", None)
        if info is None:
            if id(tensor) not in self.theirs:
                self.adopt(tensor)
            return
        if info.meta.layout != "strided":
            return
        storage = info.storage
        if info.kind == VALUED and not mine:
            info = Info(info.meta, storage, THEIRS, info.grad_fn, info.number)
            tensor._sw = info  # type: ignore[attr-defined]
        storage.known = info.kind != BLANK and self.known_limit > 0
        self.met.append(info)

    def first_sight(self, tensor: Tensor, device: str | None = None) -> Info:
        if is_transformed(tensor):
            inner = unwrapped(tensor)
            claim = self.info(inner).meta.device if self.known(inner) else self.home
            claim = device or claim
            return Info(make_opaque_meta(tensor, claim, "functorch"), Storage(claim))
        if _is_odd(tensor):
            claim = device or (self.home if tensor.is_meta else str(tensor.device))
            layout = str(tensor.layout).removeprefix("torch.")
            layout = "nested" if tensor.is_nested else layout
            kind = BLANK if tensor.is_meta else THEIRS
            return Info(make_opaque_meta(tensor, claim, layout), Storage(claim), kind)
        if tensor.is_meta:
            return self.add_plain(tensor, device or self.home)
        claim = device or getattr(tensor, FROM_FILE, None) or str(tensor.device)
        storage = self.storage_of(tensor, claim)
        meta = intern_meta(self.memo.metas, tensor, claim, tensor.requires_grad)
        info = Info(meta, storage, THEIRS)
        info.grad_fn = tensor.grad_fn.name() if tensor.grad_fn else None
        if (
            isinstance(tensor, Parameter)
            or tensor.grad_fn is not None
            or id(tensor) in self.unknown_ids
            or tensor.untyped_storage().nbytes() > 16 * self.known_limit
            or tensor.numel() > self.known_limit
        ) and not self.holds(tensor):
            storage.known = False
        if self.looks_at_data and not isinstance(tensor, Parameter):
            values = describe_data(self, tensor)
            if values is not None:
                self.data_values[info.number] = values
        return info

    def holds(self, tensor: Tensor) -> bool:
        """Return whether the integers of a large tensor, such as labels, are kept."""
        count = tensor.numel()
        unknown = isinstance(tensor, Parameter) or id(tensor) in self.unknown_ids
        return (
            not unknown
            and count <= self.held_limit
            and (tensor.dim() == 1 or hasattr(tensor, FROM_FILE))
            and is_whole(tensor.dtype)
            and tensor.untyped_storage().nbytes() <= 16 * self.held_limit
        )

    def limit_for(self, infos: list[Info], dtype: torch.dtype | None = None) -> int:
        """Return the size limit for results of known tensors: at least the largest, or
        as many bytes of truths as of whole numbers.
        """
        sizes = [
            count_elements(info.meta.shape) for info in infos if info.storage.known
        ]
        size = torch.int64.itemsize if dtype == torch.bool else 1
        return max([size * self.known_limit, *sizes]) if self.known_limit > 0 else -1

    def storage_of(self, tensor: Tensor, claim: str) -> Storage:
        key = tensor.untyped_storage()._cdata
        storage = self.their_storages.get(key)
        if storage is None:
            storage = self.their_storages[key] = Storage(claim, not tensor.is_meta)
        return storage

    def blank_of(self, tensor: Tensor) -> Tensor:
        """Return the data-free tensor on which torch runs in place of this tensor."""
        info = self.info(tensor)
        if info.kind == BLANK:
            return info.twin if info.twin is not None and not self.graph else tensor
        twin = info.twin
        if twin is None:
            with suspend_transforms():
                twin = info.twin = self.make_twin(tensor, info)
        return twin

    def make_twin(self, tensor: Tensor, info: Info) -> Tensor:
        meta = info.meta
        if not meta.stride and meta.layout != "strided":
            return self.copy_of(tensor, info)
        storage = info.storage
        if storage.known and storage.clone is None:  # for views of the twin
            whole = tensor.untyped_storage()
            storage.clone = whole if info.kind == VALUED else whole.cpu().clone()
        if storage.blank is None:
            size = tensor.untyped_storage().nbytes()
            storage.blank = torch.UntypedStorage(size, device="meta")
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            twin = torch.empty(0, dtype=meta.torch_dtype, device="meta")
            twin.set_(storage.blank, meta.offset, meta.shape, meta.stride)
        if self.graph and meta.requires_grad and info.grad_fn is None:
            twin.requires_grad_(True)
        if self.graph:  # torch hands it out in hooks and backward methods
            same = Info(meta, storage, BLANK, info.grad_fn, info.number)
            return self.tell(twin, same)
        return twin

    def copy_of(self, tensor: Tensor, info: Info) -> Tensor:
        """Return a copy of a user's tensor that has no data-free form."""
        if info.kind != THEIRS or info.meta.layout not in COPIED:
            return tensor
        copy = tensor.detach().clone()
        return copy.requires_grad_() if info.meta.requires_grad else copy

    def value_of(self, tensor: Tensor) -> Tensor:
        """Return the CPU tensor to compute with; a user's tensor is copied first."""
        info = self.info(tensor)
        if info.kind == VALUED:
            return tensor
        storage, meta = info.storage, info.meta
        if storage.clone is None:
            storage.clone = tensor.untyped_storage().cpu().clone()
        with torch.inference_mode(tensor.is_inference()):
            value = torch.empty(0, dtype=meta.torch_dtype)
            value.set_(storage.clone, meta.offset, meta.shape, meta.stride)
            return value.requires_grad_() if meta.requires_grad else value

    def tell(self, tensor: Tensor, info: Info) -> Tensor:
        """Attach an info to a tensor that the run created."""
        tensor._sw = info  # type: ignore[attr-defined]
        tensor._sw_life = self.life  # type: ignore[attr-defined]
        return tensor

    def retell(self, tensor: Tensor, info: Info) -> None:
        """Replace the info of any tensor."""
        if getattr(tensor, "_sw", None) is None and id(tensor) in self.theirs:
            self.theirs[id(tensor)] = (tensor, info)
            self.reshaped = True
        else:
            tensor._sw = info  # type: ignore[attr-defined]


def _is_odd(tensor: Tensor) -> bool:
    """Return whether a tensor is more than its shape, strides and storage describe."""
    kind = type(tensor)
    if kind is Tensor or kind is Parameter or kind is Buffer:
        return (
            tensor.layout is not torch.strided
            or tensor.is_nested
            or tensor.is_quantized
        )
    if (
        issubclass(kind, Parameter)
        and kind.__torch_function__ is Parameter.__torch_function__
    ):
        return isinstance(tensor, UninitializedTensor)
    return True
