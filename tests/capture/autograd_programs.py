"""Small programs for the corners of autograd: views written to, graphs cut and grown.

`PROGRAMS[name]()` gives `(program, args, kwargs)`, seeded, real tensors all of them. A
program that expects an error of torch catches it and returns its words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint

Built = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
PROGRAMS: dict[str, Callable[[], Built]] = {}


def program(*inputs: Callable[[], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Register a function, with makers of its inputs."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def build() -> Built:
            torch.manual_seed(0)
            return function, tuple(make() for make in inputs), {}

        PROGRAMS[function.__name__] = build
        return function

    return register


def of(*shape: int, grad: bool = False, dtype: Any = None) -> Callable[[], Tensor]:
    """A maker of a random input."""
    return lambda: torch.randn(shape, dtype=dtype, requires_grad=grad)


def leaf(*shape: int) -> Callable[[], Tensor]:
    """A maker of a random input that requires grad."""
    return of(*shape, grad=True)


def words(call: Callable[[], Any]) -> str:
    """The first line of the error that a call raises."""
    try:
        call()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "no error"


# -- cutting the graph --------------------------------------------------------


@program(leaf(3, 4))
def asked_of_a_non_leaf(x: Tensor) -> Any:
    """The method takes it, the attribute does not."""
    y = x.clone().requires_grad_()

    def by_attribute() -> None:
        y.requires_grad = True

    refused = words(by_attribute), words(lambda: (x * 2).requires_grad_(False))
    y.sum().backward()
    return y, y * 2, x.grad, refused, x.requires_grad_()


@program(leaf(3, 4))
def detached(x: Tensor) -> Any:
    y = x * 2
    return y, y.detach(), y.detach() + y, y.detach().requires_grad_() * y


@program(leaf(3, 4))
def detached_in_place(x: Tensor) -> Any:
    y = (x * 2).exp()
    y.detach_()
    return y + 1, x + y


@program(leaf(3, 4))
def data_of_a_tensor(x: Tensor) -> Any:
    y = x * 2
    return y.data, y.data + x, x.data * 2, y


@program(leaf(3, 4), of(4, 2))
def toggled(x: Tensor, w: Tensor) -> Any:
    before = x @ w
    w.requires_grad_()
    after = x.detach() @ w
    w.requires_grad_(False)
    return before, after, x.detach() @ w


@program(of(3, 4))
def attribute_set(x: Tensor) -> Any:
    x.requires_grad = True
    y = x.sin()
    return y, x + 1


@program(leaf(3, 4))
def no_grad_inside(x: Tensor) -> Any:
    with torch.no_grad():
        scale = x.norm()
        view = x[0]
        part = (x * 2)[1]
        with torch.enable_grad():
            back = x.exp()
    return scale, view, part, back, x / scale, view * 2


@program(leaf(3, 4))
def views_made_without_grad(x: Tensor) -> Any:
    y = x * 2
    with torch.no_grad():
        views = y.view(4, 3), y[0], y.T, y.reshape(2, 6), y.unsqueeze(0), x.flatten()
        whole = y.contiguous(), y.to(torch.float32), y.expand(2, 3, 4)
    return [view + 1 for view in views], [view * 2 for view in whole]


@torch.no_grad()
def _frozen(x: Tensor) -> Tensor:
    return x.relu() + 1


@program(leaf(3, 4))
def decorated(x: Tensor) -> Any:
    return _frozen(x), _frozen(x) + x


@program(leaf(3, 4))
def grad_mode_set(x: Tensor) -> Any:
    with torch.set_grad_enabled(False):
        a = x * 2
    torch.set_grad_enabled(True)
    b = x * 2
    with torch.inference_mode():
        c = torch.ones(2, 2) * 3
    return a, b, c.clone()


@program(leaf(3, 4))
def straight_through(x: Tensor) -> Any:
    hard = (x > 0).float()
    return x + (hard - x).detach(), hard


@program(leaf(3, 4))
def integers_and_comparisons(x: Tensor) -> Any:
    top = x.topk(2)
    return x.argmax(1), x > 0, top.values, top.indices, x.sort(dim=1), x.max(dim=0)


# -- writes -------------------------------------------------------------------


@program(leaf(3, 4))
def writes(x: Tensor) -> Any:
    y = x * 2
    y.add_(1)
    y.mul_(y.detach())
    z = torch.zeros(3, 4)
    z.add_(x)
    w = torch.zeros(3, 4)
    w += x.detach()
    return y, z, w, F.relu(y, inplace=True), y.exp()


@program(leaf(3, 4))
def writes_to_views(x: Tensor) -> Any:
    y = x * 2
    row = y[0]
    row.mul_(3)
    other = y[1]
    y.add_(1)
    return y, row, other, row + 1, other + 1, y.sum()


@program(leaf(3, 4))
def assigned_rows(x: Tensor) -> Any:
    out = torch.zeros(5, 4)
    out[1:4] = x
    out[0] = x[0] * 2
    out[:, 1] += 1
    return out, out.sum()


@program(leaf(3, 4))
def assigned_by_index(x: Tensor) -> Any:
    out = x.clone()
    out[torch.tensor([0, 2])] = 0.0
    out[x.detach() > 0] = x.detach().mean()
    out[0, 1] = x[1, 1]
    return out * 2


@program(leaf(2, 3, 4))
def views_of_views(x: Tensor) -> Any:
    y = x * 1
    view = y.transpose(0, 1)[1].unsqueeze(0).view(1, 2, 4)
    view.zero_()
    return y, view, y.permute(2, 0, 1)[1:, ::2].narrow(0, 1, 2), y.diagonal(0, 1, 2)


@program(leaf(4, 6))
def parts_written(x: Tensor) -> Any:
    y = x * 1
    halves, parts, rows = y.chunk(2, 1), y.split(4, 1), y.unbind(0)
    return (
        words(lambda: halves[0].add_(1)),
        words(lambda: parts[1].mul_(2)),
        words(lambda: rows[2].zero_()),
        y[0].add_(1),
        y,
    )


@program(leaf(4, 6))
def a_leaf_written(x: Tensor) -> Any:
    return (
        words(lambda: x.add_(1)),
        words(lambda: x[0].mul_(2)),
        words(lambda: x.view(-1).zero_()),
        words(lambda: x.__setitem__(0, 1.0)),
        words(lambda: F.relu(x, inplace=True)),
        x + 1,
    )


@program(leaf(4, 6))
def a_leaf_written_without_grad(x: Tensor) -> Any:
    with torch.no_grad():
        x.mul_(0.5)
        x[0].fill_(1.0)
        x.data.add_(1)
    return x * 2


@program(of(1, 4))
def expanded_and_written(x: Tensor) -> Any:
    wide = x.expand(3, 4)
    return (
        words(lambda: wide.add_(1)),
        words(lambda: wide.mul_(wide)),
        words(lambda: wide.copy_(torch.ones(3, 4))),
        wide,
        wide.contiguous().add_(1),
    )


@program(leaf(3, 4))
def written_over_saved(x: Tensor) -> Any:
    y = x.exp()
    z = y * 2
    y.add_(1)
    return words(lambda: z.sum().backward())[:60], z


@program(leaf(3, 4))
def into_out(x: Tensor) -> Any:
    out = torch.empty(3, 4)
    with torch.no_grad():
        torch.add(x, 1, out=out)
    return out, words(lambda: torch.add(x, 1, out=torch.empty(3, 4)))


@program(leaf(3, 4))
def augmented(x: Tensor) -> Any:
    y = x + 0
    alias = y
    y += x
    y *= 2
    y -= 1
    y /= 3
    return y, alias, y is alias


@program(leaf(3, 4))
def scattered(x: Tensor) -> Any:
    index = torch.tensor([[0, 1, 2, 0]])
    out = torch.zeros(3, 4)
    out.scatter_add_(0, index, x[:1])
    out.index_add_(0, torch.tensor([0, 2]), x[:2])
    out.index_copy_(0, torch.tensor([1]), x[2:])
    out.masked_fill_(torch.eye(3, 4).bool(), 0.0)
    return out, out.masked_scatter(out.detach() > 0, x)


@program(leaf(2, 3, 4))
def normalised_and_activated_in_place(x: Tensor) -> Any:
    a = F.relu_(F.instance_norm(x))
    b = F.leaky_relu_(F.layer_norm(x, (4,)), 0.1)
    c = F.relu_(F.group_norm(x, 3))
    d = F.elu_(F.batch_norm(x, None, None, training=True))
    e = F.relu_(F.linear(x, torch.ones(5, 4)))
    f = F.relu_(torch.matmul(x, torch.ones(4, 2)))
    g = F.relu_(F.conv1d(x, torch.ones(2, 3, 1)))
    return a, b, c, d, e, f, g


@program(leaf(2, 2, 4, 4))
def pooled_and_activated_in_place(x: Tensor) -> Any:
    made = [
        F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1),
        F.interpolate(x, scale_factor=2), F.pad(x, (1, 1)), F.dropout(x, 0.5),
        torch.cat([x, x]), torch.stack([x, x]),
        F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2),
        torch.einsum("bchw,bcij->bhi", x, x), F.softmax(x, 1), F.embedding(
            torch.tensor([0, 1]), x[0, 0]
        ), F.unfold(x, 2), F.conv_transpose2d(x, torch.ones(2, 2, 1, 1)),
        torch.bmm(x[0], x[1]), torch.where(x > 0, x, 0.0), x.sum(0), x.cumsum(1),
    ]  # fmt: skip
    return [tensor.add_(1) for tensor in made], made


# -- growing it ---------------------------------------------------------------


@program(leaf(3, 4))
def retained(x: Tensor) -> Any:
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    return y.grad, x.grad, y.grad + 1


@program(leaf(3, 4))
def backward_inside(x: Tensor) -> Any:
    w = torch.ones(4, 2, requires_grad=True)
    (x @ w).pow(2).sum().backward()
    step = w.detach() - 0.1 * w.grad
    return x.grad, step, x @ step


@program(of(3, 4))
def backward_of_a_module(x: Tensor) -> Any:
    layer = nn.Linear(4, 2)
    layer(x).sum().backward()
    return layer.weight.grad * 2, layer.bias.grad


@program(leaf(3, 4))
def gradient_of_an_input(x: Tensor) -> Any:
    energy = (x**2).sum()
    (force,) = torch.autograd.grad(energy, x, create_graph=True)
    return force, force.sum(), torch.autograd.grad(force.sum(), x)[0]


@program(leaf(3, 4), leaf(4, 4))
def gradient_penalty(x: Tensor, w: Tensor) -> Any:
    score = torch.tanh(x @ w).sum(1)
    (slope,) = torch.autograd.grad(
        score, x, torch.ones_like(score), create_graph=True, retain_graph=True
    )
    return score.mean() + (slope.norm(dim=1) - 1).pow(2).mean()


@program(of(3, 4))
def gradient_of_an_intermediate(x: Tensor) -> Any:
    z = x.clone().requires_grad_()
    y = z.sin()
    (g,) = torch.autograd.grad(y.sum(), z, create_graph=True)
    return g, -g * 2


@program(leaf(3, 4))
def hooked(x: Tensor) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return x.grad


@program(of(3, 4))
def trained_for_two_steps(x: Tensor) -> Any:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return loss


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        (x,) = context.saved_tensors
        return gradient * 3 * x * x


class Both(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, y: Tensor, scale: float) -> Any:
        context.scale = scale
        context.mark_non_differentiable(mask := x > 0)
        return x * scale, y + x, mask

    @staticmethod
    def backward(context: Any, one: Tensor, two: Tensor, _: Any) -> Any:
        return one * context.scale + two, two, None


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.mark_dirty(x)
        return x.clamp_(min=0)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient


@program(leaf(3, 4), of(3, 4))
def custom_functions(x: Tensor, y: Tensor) -> Any:
    a, b, mask = Both.apply(x, y, 2.0)
    return Cube.apply(x), a, b, mask, Cube.apply(y), Cube.apply(x).sum() + 1


@program(leaf(3, 4))
def custom_function_with_backward(x: Tensor) -> Any:
    Cube.apply(x).sum().backward()
    return x.grad


@program(leaf(3, 4))
def custom_function_in_place(x: Tensor) -> Any:
    return Clamped.apply(x * 1) + 1


def _body() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 4))


@program(leaf(3, 4))
def checkpointed(x: Tensor) -> Any:
    return checkpoint(_body(), x, use_reentrant=False)


@program(leaf(3, 4))
def checkpointed_reentrant(x: Tensor) -> Any:
    return checkpoint(_body(), x, use_reentrant=True) * 2


@program(of(3, 4))
def checkpointed_without_a_leaf(x: Tensor) -> Any:
    body = _body()
    return checkpoint(body, x, use_reentrant=True), checkpoint(
        body, x, use_reentrant=False
    )


@program(leaf(3, 4))
def checkpointed_and_backward(x: Tensor) -> Any:
    checkpoint(_body(), x, use_reentrant=False).sum().backward()
    return x.grad


# -- modules ------------------------------------------------------------------


@program(lambda: torch.tensor([[1, 2, 3]]))
def tied_weights(tokens: Tensor) -> Any:
    embed, head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
    head.weight = embed.weight
    return head(embed(tokens)), embed.weight.T @ head.weight


@program(of(3, 4))
def weights_swapped(x: Tensor) -> Any:
    layer = nn.Linear(4, 2)
    a = layer(x)
    layer.weight.data = torch.ones(5, 4)
    layer.bias = None
    b = layer(x)
    layer.weight = nn.Parameter(layer.weight[:3].clone())
    return a, b, layer(x)


@program(of(3, 4))
def storage_set(x: Tensor) -> Any:
    base = torch.arange(12.0)
    view = torch.empty(0).set_(base.untyped_storage(), 2, (2, 3), (3, 1))
    base.add_(1)
    x.data = torch.ones(2, 2)
    return view, view + 1, x + 1, base


@program(of(3, 4))
def called_with_other_parameters(x: Tensor) -> Any:
    layer = nn.Linear(4, 2)
    bare = {"weight": torch.ones(5, 4), "bias": torch.zeros(5)}
    half = {name: value * 2 for name, value in layer.named_parameters()}
    return functional_call(layer, bare, (x,)), functional_call(layer, half, (x,))


class Symmetric(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.triu() + x.triu(1).mT


@program(of(3, 4))
def parametrised(x: Tensor) -> Any:
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    with parametrize.cached():
        y = layer(x) + layer(x)
    return y, layer.weight


def _layer() -> nn.Module:
    return nn.Conv1d(4, 6, 3)


PARAMETRISED: dict[str, Callable[[nn.Module], nn.Module]] = {
    "weight_norm_parametrised": parametrizations.weight_norm,
    "spectral_norm_parametrised": parametrizations.spectral_norm,
    "orthogonal": lambda layer: parametrizations.orthogonal(nn.Linear(4, 6)),
    "weight_norm_by_hook": nn.utils.weight_norm,
    "spectral_norm_by_hook": nn.utils.spectral_norm,
}
for _name, _change in PARAMETRISED.items():

    def _build(change: Any = _change, name: str = _name) -> Built:
        torch.manual_seed(0)
        shape = (2, 4) if name == "orthogonal" else (2, 4, 8)
        return change(_layer()), (torch.randn(shape),), {}

    PROGRAMS[_name] = _build


@program(leaf(4, 6))
def dropped_out(x: Tensor) -> Any:
    return (
        F.dropout(x, 0.5), F.dropout(x, 0.5, training=False), F.dropout(x, 0.0),
        F.dropout1d(x, 0.5), F.alpha_dropout(x, 0.5, training=True),
        nn.Dropout(0.3)(x), F.dropout(x * 1, 0.5, inplace=True),
        F.feature_alpha_dropout(x[None], 0.5, True),
    )  # fmt: skip


@program(leaf(4, 6))
def complex_numbers(x: Tensor) -> Any:
    z = torch.complex(x, x * 2)
    w = torch.view_as_complex(x.view(4, 3, 2))
    return (
        z, z.abs(), z.angle(), z.conj(), z.conj() * z, z.real, z.imag + 1, z.mH @ z,
        torch.fft.fft(x), torch.fft.irfft(torch.fft.rfft(x)), w, torch.view_as_real(w),
        torch.polar(x.abs(), x), z.real.add_(1), z, w.resolve_conj(), z * 2j,
    )  # fmt: skip


# -- torch.func ---------------------------------------------------------------


@program(leaf(5, 4), leaf(4, 2))
def mapped(x: Tensor, w: Tensor) -> Any:
    rows = vmap(lambda row: torch.tanh(row @ w))(x)
    both = vmap(torch.dot)(x, x)
    return rows, both, vmap(vmap(torch.sin))(x), rows.sum()


@program(of(5, 4))
def mapped_without_grad(x: Tensor) -> Any:
    return vmap(lambda row: row.sort().values[:2], out_dims=1)(x), vmap(
        lambda row, k: row * k, in_dims=(0, None)
    )(x, torch.ones(4))


@program(of(4))
def gradients_by_func(x: Tensor) -> Any:
    def f(v: Tensor) -> Tensor:
        return (v.sin() * v).sum()

    value, tangent = jvp(f, (x,), (torch.ones(4),))
    out, pull = vjp(torch.exp, x)
    return grad(f)(x), value, tangent, out, pull(torch.ones(4))[0]


@program(of(3))
def second_derivatives(x: Tensor) -> Any:
    def f(v: Tensor) -> Tensor:
        return (v**3).sum()

    return hessian(f)(x), jacrev(torch.sin)(x), vmap(grad(lambda s: s**2))(x)


@program(of(5, 4))
def gradients_per_sample(x: Tensor) -> Any:
    layer = nn.Linear(4, 2)
    state = {name: value.detach() for name, value in layer.named_parameters()}

    def loss(state: Any, row: Tensor) -> Tensor:
        return functional_call(layer, state, (row,)).pow(2).sum()

    return vmap(grad(loss), in_dims=(None, 0))(state, x)


@program(of(3, 6))
def gradients_with_tensors_of_their_own(w: Tensor) -> Any:
    def f(w: Tensor) -> Tensor:
        y = torch.ones(4, 6) @ w.T + torch.tensor([1.0, 2.0, 3.0])
        return torch.where(y > 0, y, torch.tensor(0.0)).sum()

    return grad(f)(w), vmap(lambda row: row * torch.arange(6.0))(w), jacrev(f)(w)
