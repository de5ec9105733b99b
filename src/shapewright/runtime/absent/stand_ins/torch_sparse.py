"""torch_sparse: matrices as rows, columns and values of what is not zero.

How many elements are left where several fall together depends on data: it is what the
run assumes of `torch.unique`, and tells.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shapewright.runtime.absent.stand_ins.torch_scatter import scatter, scatter_sum

SOURCE = "signatures of https://github.com/rusty1s/pytorch_sparse, 0.6"
VERSION = "0.6.18"
Sizes = tuple[int | None, int | None]


def spmm(index: Tensor, value: Tensor, m: int, n: int, matrix: Tensor) -> Tensor:
    """index (2, E), value (E,), matrix (..., n, F): (..., m, F)."""
    assert n == matrix.size(-2)
    rows = matrix.index_select(-2, index[1]) * value.unsqueeze(-1)
    return scatter_sum(rows, index[0], -2, None, m)


def coalesce(
    index: Tensor, value: Tensor | None, m: int, n: int, op: str = "add"
) -> tuple[Tensor, Tensor | None]:
    """index (2, E), value (E, ...): as many as there are distinct, sorted."""
    matrix = SparseTensor(index[0], None, index[1], value, (m, n)).coalesce(op)
    return torch.stack((matrix._row, matrix._col)), matrix._value


def transpose(
    index: Tensor, value: Tensor | None, m: int, n: int, coalesced: bool = True
) -> tuple[Tensor, Tensor | None]:
    """index (2, E): rows and columns exchanged."""
    if not coalesced:
        return index.flip(0), value
    return coalesce(index.flip(0), value, n, m)


def spspmm(
    indexA: Tensor, valueA: Tensor, indexB: Tensor, valueB: Tensor, m: int, k: int,
    n: int, coalesced: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """A (m, k) and B (k, n): their product, as many elements as are not zero."""
    A = torch.sparse_coo_tensor(indexA, valueA, (m, k), check_invariants=False)
    B = torch.sparse_coo_tensor(indexB, valueB, (k, n), check_invariants=False)
    out = A.to_dense() @ B.to_dense()
    index = (out != 0).nonzero().t()
    return index, out[index[0], index[1]]


class SparseTensor:
    """A matrix (M, N) of E elements, sorted by rows."""

    def __init__(
        self, row: Tensor | None = None, rowptr: Tensor | None = None,
        col: Tensor | None = None, value: Tensor | None = None,
        sparse_sizes: Sizes | None = None, is_sorted: bool = False,
        trust_data: bool = False,
    ) -> None:  # fmt: skip
        assert row is not None or rowptr is not None
        assert col is not None
        assert col.dtype == torch.long
        assert col.dim() == 1
        if row is None:
            assert rowptr is not None
            places = torch.arange(col.numel(), device=col.device)
            row = torch.bucketize(places, rowptr[1:], right=True)
        assert row.dtype == torch.long
        assert row.numel() == col.numel()
        assert value is None or value.size(0) == col.size(0)
        m, n = sparse_sizes or (None, None)
        if m is None:
            m = rowptr.numel() - 1 if rowptr is not None else int(row.max()) + 1
        n = int(col.max()) + 1 if n is None else n
        if not is_sorted:
            order = (row * n + col).argsort(stable=True)
            row, col = row[order], col[order]
            value = value if value is None else value[order]
        self._row, self._col, self._value, self._sizes = row, col, value, (m, n)

    def _with(self, value: Tensor | None) -> SparseTensor:
        return SparseTensor(self._row, None, self._col, value, self._sizes, True, True)

    @classmethod
    def from_edge_index(
        cls, edge_index: Tensor, edge_attr: Tensor | None = None,
        sparse_sizes: Sizes | None = None, is_sorted: bool = False,
        trust_data: bool = False,
    ) -> SparseTensor:  # fmt: skip
        """edge_index (2, E), edge_attr (E, ...)."""
        return cls(
            edge_index[0], None, edge_index[1], edge_attr, sparse_sizes, is_sorted,
            trust_data,
        )  # fmt: skip

    @classmethod
    def from_dense(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """mat (M, N, ...): what is not zero."""
        whole = mat.abs().sum(list(range(2, mat.dim()))) if mat.dim() > 2 else mat
        row, col = whole.nonzero().t()
        value = mat[row, col] if has_value else None
        return cls(row, None, col, value, (mat.size(0), mat.size(1)), True, True)

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return rows (E,), columns (E,) and values."""
        return self._row, self._col, self._value

    def csr(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the ends of rows (M + 1,), columns (E,) and values."""
        counts = torch.arange(self._sizes[0] + 1, device=self._row.device)
        return torch.searchsorted(self._row, counts), self._col, self._value

    def sparse_sizes(self) -> tuple[int, int]:
        """Return (M, N)."""
        return self._sizes

    def sparse_size(self, dim: int) -> int:
        """Return M or N."""
        return self._sizes[dim]

    def sizes(self) -> list[int]:
        """Return all sizes: M, N and those of a value."""
        rest = [] if self._value is None else list(self._value.shape[1:])
        return [*self._sizes, *rest]

    def size(self, dim: int) -> int:
        """Return one size."""
        return self.sizes()[dim]

    def dim(self) -> int:
        """Return how many sizes it has."""
        return len(self.sizes())

    def nnz(self) -> int:
        """Return how many elements are there."""
        return self._col.numel()

    def has_value(self) -> bool:
        """Return whether elements have values, which are 1 otherwise."""
        return self._value is not None

    def set_value(self, value: Tensor | None, layout: Any = None) -> SparseTensor:
        """Return the same places with other values."""
        assert value is None or value.size(0) == self.nnz()
        return self._with(value)

    def fill_value(self, fill_value: float, dtype: Any = None) -> SparseTensor:
        """Return the same places with one value."""
        return self._with(
            torch.full((self.nnz(),), fill_value, dtype=dtype, device=self._row.device)
        )

    def coalesce(self, reduce: str = "sum") -> SparseTensor:
        """Return each place once, its values reduced."""
        n = self._sizes[1]
        keys, places = torch.unique(
            self._row * n + self._col, dim=0, return_inverse=True
        )
        value = self._value
        if value is not None:
            value = scatter(value, places, 0, None, keys.shape[0], reduce)
        return SparseTensor(keys // n, None, keys % n, value, self._sizes, True, True)

    def t(self) -> SparseTensor:
        """Return it with rows and columns exchanged."""
        m, n = self._sizes
        return SparseTensor(self._col, None, self._row, self._value, (n, m))

    def to_dense(self, dtype: Any = None) -> Tensor:
        """Return (M, N, ...)."""
        value = self._value
        if value is None:
            value = torch.ones(self.nnz(), dtype=dtype, device=self._row.device)
        out = value.new_zeros(self.sizes())
        return out.index_put((self._row, self._col), value)

    def to_torch_sparse_coo_tensor(self, dtype: Any = None) -> Tensor:
        """Return torch's own."""
        value = self._value
        if value is None:
            value = torch.ones(self.nnz(), dtype=dtype, device=self._row.device)
        return torch.sparse_coo_tensor(
            torch.stack((self._row, self._col)), value, self.sizes(),
            check_invariants=False,
        )  # fmt: skip

    def sum(self, dim: int | None = None) -> Tensor:
        """Return the sums of rows (dim 1), of columns (dim 0), or of all."""
        value = self._value
        if value is None:
            value = torch.ones(self.nnz(), device=self._row.device)
        if dim is None:
            return value.sum()
        index = self._row if dim == 1 else self._col
        return scatter_sum(value, index, 0, None, self._sizes[1 - dim])

    def device(self) -> torch.device:
        """Return where it is."""
        return self._row.device

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Return it elsewhere, or its values in another dtype."""
        value = None if self._value is None else self._value.to(*args, **kwargs)
        if any(isinstance(item, torch.dtype) for item in (*args, *kwargs.values())):
            return self._with(value)
        row, col = self._row.to(*args, **kwargs), self._col.to(*args, **kwargs)
        return SparseTensor(row, None, col, value, self._sizes, True, True)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> SparseTensor:
        """Return it on a GPU."""
        return self.to("cuda" if device is None else device)

    def cpu(self) -> SparseTensor:
        """Return it on the CPU."""
        return self.to("cpu")

    def matmul(self, other: Any, reduce: str = "sum") -> Any:
        """As `matmul`."""
        return matmul(self, other, reduce)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other, "sum")


def matmul(src: SparseTensor, other: Any, reduce: str = "sum") -> Any:
    """src (M, N), other (N, F): (M, F); other a `SparseTensor` (N, K): (M, K)."""
    m, n = src.sparse_sizes()
    if isinstance(other, SparseTensor):
        if reduce not in ("sum", "add"):
            raise NotImplementedError
        return SparseTensor.from_dense(src.to_dense() @ other.to_dense())
    if not isinstance(other, Tensor):
        raise ValueError
    if reduce not in ("sum", "add", "mean", "min", "max"):
        raise ValueError
    assert n == other.size(-2)
    rows = other.index_select(-2, src._col)
    if src._value is not None:
        rows = rows * src._value.to(other.dtype).unsqueeze(-1)
    return scatter(rows, src._row, -2, None, m, reduce)


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "spmm": spmm, "coalesce": coalesce, "transpose": transpose, "spspmm": spspmm,
        "SparseTensor": SparseTensor, "matmul": matmul,
    },
    "tensor": {"SparseTensor": SparseTensor}, "matmul": {"matmul": matmul},
}  # fmt: skip
