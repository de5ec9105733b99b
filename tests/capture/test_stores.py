"""One tensor with its storage: what is said of strides is what torch says."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest
import torch

import shapewright as sw
from shapewright.index_maps.drawn_calls import iter_offsets
from shapewright.sizes.strides import is_contiguous
from shapewright.views.drawing.drawing import Drawing

X = torch.arange(24.0).view(4, 6)


def views(draw: random.Random) -> torch.Tensor:
    """A tensor after some views that torch takes."""
    made = torch.arange(float(draw.choice([24, 48, 64]))).reshape(2, -1, 4)
    for _ in range(draw.randint(0, 3)):
        made = viewed(made, draw.randrange(6), draw.randrange(made.dim()))
    return made


def viewed(x: torch.Tensor, way: int, dim: int) -> torch.Tensor:
    size = x.shape[dim]
    if way == 0:
        return x.transpose(dim, 0)
    if way == 1:
        return x.narrow(dim, size // 2, size - size // 2)
    if way == 2:
        return x.unfold(dim, max(1, size // 2), 1)
    if way == 3:
        return x.unsqueeze(dim).expand(*x.shape[:dim], 2, *x.shape[dim:])
    if way == 4:
        return x[(slice(None),) * dim + (slice(None, None, 2),)]
    return x.select(dim, 0) if x.dim() > 1 else x


@pytest.mark.parametrize("seed", range(200))
def test_strides_reach_the_cells_that_torch_reads(seed: int) -> None:
    x = views(random.Random(seed))
    drawing = sw.draw(x, "x")
    stored = drawing.drawn
    assert is_contiguous(stored.side.shape, stored.side.stride) == x.is_contiguous()
    whole = torch.tensor([]).set_(x.untyped_storage(), 0, (stored.count,), (1,))
    cells = list(iter_offsets(stored.side))
    assert whole[cells].tolist() == x.flatten().tolist()
    assert stored.reached == len(set(cells))
    assert ("not contiguous" in str(drawing)) != x.is_contiguous()
    assert ElementTree.fromstring(drawing.svg()).tag.endswith("svg")


def lines(tensor: torch.Tensor) -> list[str]:
    return str(sw.draw(tensor, "x")).splitlines()


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (X.t(), "in storage its dims are in the order 1, 0"),
        (X[:, ::2], "a step along dim 1 is 2 cells, 1 would be dense: cells between "
         "are left out"),
        (X[:, :1].expand(4, 3), "dim 1 has stride 0: its 3 places are one cell"),
        (X[:, :1].expand(4, 3), "12 elements in 4 cells: one cell is several elements"),
        (X[:, :3], "a step along dim 0 is 6 cells, 3 would be dense: cells between "
         "are left out"),
        (X.unfold(1, 3, 1), "48 elements in 24 cells: one cell is several elements"),
        (torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last),
         "in storage its dims are in the order 0, 2, 3, 1 (channels last)"),
        (X[1:3, ::2], "x[i, j] is storage cell 6 + 6*i + 2*j"),
        (X[1:3, ::2], "storage: 24 cells of 4 bytes, of which it reaches 6"),
        (X[1:3], "a view: it was made of a tensor of shape (24,)"),
        (torch.tensor(3), "x is storage cell 0"),
        (torch.tensor(3), "storage: 1 cell of 8 bytes"),
        (torch.empty(0, 3), "contiguous: it has no elements"),
        (torch.zeros(3).add_(1).mul_(2), "version 2: written in place 2 times since "
         "it was made"),
        (torch.ones(2, requires_grad=True) * 2, "requires grad, made by MulBackward0"),
        (torch.tensor([1j]).conj(),
         "conjugated when it is read: the storage holds the conjugates"),
        (torch.empty(3, device="meta"),
         "values are not shown: a meta tensor has no values"),
        (torch.zeros(5000), "… columns 0 to 24 of 5000"),
        (torch.zeros(1 << 19), "values are not shown: 524,288 elements are too many"),
        (torch.zeros(5000)[100:], "… 4,976 more cells, 4,900 of them reached"),
        (torch.eye(2).to_sparse(),
         "values are not shown: a tensor of layout sparse_coo has no strides"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_tensor(tensor: torch.Tensor, said: str) -> None:
    assert said in " ".join(line.strip() for line in lines(tensor))


def test_reached_cells_are_marked() -> None:
    text = "\n".join(lines(X[1:3, ::2]))
    assert "│  0   1   2   3   4   5  [6]  7  [8]  9 [10] 11 │" in text
    assert "marked cells are those that the tensor reaches" in text
    root = ElementTree.fromstring(sw.draw(X[1:3, ::2]).svg())
    kinds = [node.get("class") for node in root.iter()]
    assert kinds.count("sw-read") == 6


def test_where_every_cell_is_reached_no_mark_is_made() -> None:
    text = "\n".join(lines(X.t()))
    assert "[" not in text.partition("storage\n")[2]
    assert "the tensor reaches every cell" in text


def test_a_typed_tensor_is_drawn_with_its_storage() -> None:
    text = str(sw.explain("f32[2, 3]"))
    assert "tensor[i, j] is storage cell 3*i + j" in text
    assert "version" not in text
    large = str(sw.explain("f32[9000, 9000]"))
    assert "values are not shown: 81,000,000 elements are too many" in large
    assert "stride (9000, 1)" in large


def test_only_a_tensor_is_drawn() -> None:
    with pytest.raises(TypeError, match="a tensor is drawn, not list"):
        sw.draw([1, 2])


def test_a_notebook_shows_it() -> None:
    drawing = sw.draw(X)
    assert isinstance(drawing, Drawing)
    assert drawing._repr_svg_() in drawing._repr_html_()
