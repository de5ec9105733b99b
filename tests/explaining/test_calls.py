"""Calls of many families, on real tensors: the note names what does not fit.

Every function stands on lines of this file; the note shows the line and marks the call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from explaining.notes import note_of

Case = tuple[Callable[[], object], list[str]]
CASES: dict[str, Case] = {}


def case(*words: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """The words of the note of a function."""

    def add(function: Callable[[], object]) -> Callable[[], object]:
        CASES[function.__name__] = function, list(words)
        return function

    return add


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(24, width)
        )
        self.weight = nn.Parameter(torch.randn(width, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.net(x)


class Net(nn.Module):
    def __init__(self, block: type[Block] = Block) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 5)
        self.blocks = nn.ModuleList([block(8) for _ in range(2)])
        self.head = nn.Linear(400, 120)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def flat(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(x, 1))

    def step(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self.loss(self.scaled(x), labels)

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Product(Block):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x @ self.weight
        return h @ self.weight


class Linear(nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input)


@case("`@` needs as many columns in `torch.cat([a, b]) * 2` (6, 5) as rows in `y`")
def a_temporary() -> object:
    a, b, y = torch.randn(3, 5), torch.randn(3, 5), torch.randn(3, 4)
    return (torch.cat([a, b]) * 2 @ y).relu()


@case("`x.t()` (5, 8)", "help: `reshape` instead of `view` in `x.t().view(-1)`")
def a_chain_over_lines() -> object:
    x = torch.randn(8, 5)
    # fmt: off
    return (x
            .t()
            .view(-1))
    # fmt: on


@case("`head` needs 400 input features, got 256", "is `in_features` of `head`, at",
      "help: `nn.Linear(256, 120)` at", "(tried on this call only)")  # fmt: skip
def a_layer() -> object:
    return Net().flat(torch.randn(4, 1, 16, 16))


@case("`blocks.0.net.2` needs 24 input features, got 16",
      "got: 16 is `out_features` of `blocks.0.net.1`")  # fmt: skip
def a_layer_in_a_container_in_a_list() -> object:
    return Net()(torch.randn(4, 8))


@case("in `h` (4, 3) as rows in `blocks.0.weight` (8, 3)", "  in `blocks.0`",
      "help: `self.weight.transpose(0, 1)`")  # fmt: skip
def a_parameter() -> object:
    return Net(Product)(torch.randn(4, 8))


@case("`model.1` needs 400 input features, got 75", "75 = 3·5·5, flattened from",
      "help: `nn.Linear(3 * 5 * 5, 10)` at")  # fmt: skip
def a_model_of_a_script() -> object:
    model = nn.Sequential(nn.Flatten(), nn.Linear(400, 10))
    return model(torch.randn(2, 3, 5, 5))


@case("`F.linear` needs 3 input features, got 5", "is `in_features` of `linear`")
def a_parents_forward() -> object:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = Linear(3, 4)

        def forward(self, x: torch.Tensor) -> object:
            return self.linear(x)

    return Model()(torch.randn(2, 5))


@case(
    "`loss` expects class indices (8,) for `self.scaled(x)` (8, 10), got `labels` (7,)"
)
def a_loss_of_what_the_programs_own_code_gives() -> object:
    return Net().step(torch.randn(8, 10), torch.zeros(7, dtype=torch.int64))


@case("`F.l1_loss` needs a target for each prediction: `x` is (3, 2), `y` is (4, 5)")
def a_functional_loss() -> object:
    x, y = torch.rand(3, 2), torch.rand(4, 5)
    return F.l1_loss(x, y)


@case("`+=` cannot line up `x` (8, 5) with `v` (4,): 5 against 4", "8  5   `x`\n")
def in_place() -> None:
    x, v = torch.randn(8, 5), torch.randn(4)
    x += v


@case("`Tensor.add_` cannot line up `x` (8, 5) with `v` (4,)")
def in_place_method() -> object:
    x, v = torch.randn(8, 5), torch.randn(4)
    return x.add_(v)


@case("`[]=` writes into a part (3, 5) of `x` (8, 5), but `v` is (4,): 4 into 5")
def written_by_index() -> None:
    x, i, v = torch.randn(8, 5), torch.tensor([1, 2, 3]), torch.randn(4)
    x[i] = v


@case("`[]` reads indices 0 to 7 of `x`, but `i` at [2] is 13", "`x` is f32[8, 5]")
def indexed() -> object:
    x, i = torch.randn(8, 5), torch.tensor([1, 2, 13])
    return x[i]


@case("`[]` needs a mask (3, 4) for dim 0 on of `x` (3, 4), got `mask` (3, 5)")
def masked() -> object:
    x, mask = torch.randn(3, 4), torch.ones(3, 5, dtype=torch.bool)
    return x[mask]


@case("`torch.einsum` gives `j` in `ij,jk->ik` two sizes: 5 in `x`, 6 in `y` (6, 7)")
def einsum() -> object:
    x, y = torch.randn(8, 5), torch.randn(6, 7)
    return torch.einsum("ij,jk->ik", x, y)


@case("`gru` needs 10 input features, got 11 in the last dim of `x` (3, 4, 11)",
      "is `input_size` of `gru`",
      "help: `nn.GRU(11, 20, batch_first=True)`")  # fmt: skip
def recurrent() -> object:
    gru, x = nn.GRU(10, 20, batch_first=True), torch.randn(3, 4, 11)
    return gru(x)


@case("`table` reads rows 0 to 9 of `table.weight`, but `ids` at [1, 1] is 10")
def embedding() -> object:
    table, ids = nn.Embedding(10, 20), torch.tensor([[1, 2], [3, 10]])
    return table(ids)


@case("`conv` needs 3 input channels in dim 1, got 16", "looks like channels last",
      "help: `images.permute(0, 3, 1, 2)`")  # fmt: skip
def convolution() -> object:
    conv, images = nn.Conv2d(3, 6, 5), torch.randn(2, 16, 16, 3)
    return conv(images)


@case("`norm` normalises 3 channels, got 4 in dim 1 of `x` (2, 4, 5, 5)")
def batch_norm() -> object:
    norm, x = nn.BatchNorm2d(3), torch.randn(2, 4, 5, 5)
    return norm(x)


@case("`attention` expects 32 features in the last dim of `k`, got 30")
def attention() -> object:
    attention = nn.MultiheadAttention(32, 4)
    q, k = torch.randn(5, 2, 32), torch.randn(5, 2, 30)
    return attention(q, k, q)


@case(
    "`@` expects inputs of one dtype: `x` is float32, but `y` is int64",
    "help: `y.float()`",
)
def dtypes() -> object:
    x, y = torch.randn(3, 4), torch.ones(4, 3, dtype=torch.long)
    return x @ y


@case(
    "`torch.cat` along dim 1 needs equal sizes in dim 0: `a` is (2, 3), `b` is (3, 4)"
)
def joined() -> object:
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    return torch.cat((a, b), dim=1)


@case("`torch.stack` needs equal shapes: the input is (3,), a tensor is (4,)")
def a_batch_of_a_loader() -> object:
    batches = iter(DataLoader([torch.randn(3), torch.randn(4)], batch_size=2))
    return next(batches)


@case("`Tensor.softmax` has no dim 2: `x` (3, 4) has dims 0 to 1")
def a_dim() -> object:
    x = torch.randn(3, 4)
    return x.softmax(dim=2)


@case("`Tensor.view` cannot divide 12 elements by 5 for the -1 in (5, -1)")
def divided() -> object:
    x = torch.randn(3, 4)
    return x.view(5, -1)


@case("`F.max_pool2d` needs room for a kernel of 3, got 2 in height",
      "`x` is f32[1, 3, 2, 2]")  # fmt: skip
def pooled() -> object:
    x = torch.randn(1, 3, 2, 2)
    return F.max_pool2d(x, 3)


@case("`torch.linalg.solve` expects square matrices, got 3 rows and 4 columns")
def solved() -> object:
    x, y = torch.randn(3, 4), torch.randn(3)
    return torch.linalg.solve(x, y)


@case("`Tensor.gather` reads indices 0 to 3 of `x`, but `i` at [0, 0] is 9")
def gathered() -> object:
    x, i = torch.randn(3, 4), torch.tensor([[9]])
    return x.gather(1, i)


@case("error[broadcast-mismatch]: `+` cannot line up `a` (3,) with `b` (4,)")
def not_the_outer_call() -> object:
    a, b = torch.randn(3), torch.randn(4)
    return F.dropout(a + b, 0.5)


@case("`Linear` needs 3 input features, got 5")
def a_layer_that_is_handed_on() -> object:
    return list(map(nn.Linear(3, 4), [torch.randn(2, 3), torch.randn(2, 5)]))


@case("`torch.matmul` needs as many columns in the input (2, 3) as rows in a tensor")
def starred() -> object:
    pair = torch.randn(2, 3), torch.randn(4, 5)
    return torch.matmul(*pair)


@case("every key of the state dict begins with `module.`",
      'help: `{k.removeprefix("module."): v for k, v in saved.items()}`')  # fmt: skip
def loaded() -> object:
    net = nn.Sequential(nn.Linear(3, 4))
    saved = {f"module.{key}": value for key, value in net.state_dict().items()}
    return net.load_state_dict(saved)


@case("`0` of `Sequential` has another size in the state dict",
      "`0.weight`: (4, 3) in the model, (5, 3) in the state dict",
      "help: `strict=False` with")  # fmt: skip
def loaded_of_another_size() -> object:
    net, other = nn.Sequential(nn.Linear(3, 4)), nn.Sequential(nn.Linear(3, 5))
    return net.load_state_dict(other.state_dict())


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", CASES)
def test_the_note_tells_what_does_not_fit(name: str) -> None:
    function, words = CASES[name]
    note = note_of(function)
    for each in words:
        assert each in note
    assert "torch says" not in note
    place = re.search(r"--> .*test_calls\.py:(\d+):", note)
    assert place is not None
    code = function.__code__
    lines = {line for *_, line in code.co_lines() if line} | set(OWN)
    assert int(place[1]) in lines


OWN = {
    line
    for owner in (Block, Net, Product, Linear)
    for method in vars(owner).values()
    if inspect.isfunction(method)
    for *_, line in method.__code__.co_lines()
    if line
}
"""Lines of the modules above."""
