"""Traces written by hand, as a real run would record them. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from math import prod
from typing import Any

from shapewright.findings.finding import Finding, Related
from shapewright.program.spans import Frame, Span
from shapewright.record.json_writer import compute_contiguous
from shapewright.record.ops import Assumption, Fact, ModuleCall, Op, Source, State
from shapewright.record.trace import Trace

Shape = tuple[int, ...]


class Run:
    """A run under construction: `call` opens a module call, `op` records an op."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.ops: list[Op] = []
        self.calls: list[ModuleCall] = []
        self.states: dict[str, list[State]] = {}
        self.open: list[int] = []
        self.numbers = 0

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def tensor(self, shape: Shape, dtype: str = "float32", **more: Any) -> Fact:
        number = self.number()
        given = {"tensor": number, "storage": number} | more
        return Fact(
            shape, dtype, given.pop("stride", compute_contiguous(shape)), **given
        )

    def span(self, text: str | None, nth: int = 1) -> Span | None:
        """The `nth` place where `text` stands in the source."""
        if text is None:
            return None
        at = -1
        for _ in range(nth):
            at = self.text.index(text, at + 1)
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        end_line = line + text.count("\n")
        last = len(text) - (text.rfind("\n") + 1)
        end_column = column + last if end_line == line else last + 1
        return Span(self.file, line, column, end_line, end_column)

    def own(self, path: str, *states: tuple[Any, ...]) -> dict[str, Fact]:
        """Register states of module `path`: (name, shape or path it is tied to)."""
        made: dict[str, Fact] = {}
        for name, what, *more in states:
            options = more[0] if more else {}
            full = f"{path}.{name}" if path else name
            if isinstance(what, str):
                first = next(
                    s for own in self.states.values() for s in own if s.path == what
                )
                state = State(full, first.fact, tied=what)
            else:
                buffer = options.get("buffer", False)
                dtype = options.get("dtype", "float32")
                grad = options.get("requires_grad", not buffer)
                fact = self.tensor(what, dtype, requires_grad=grad)
                state = State(full, fact, buffer, options.get("saved", True))
            self.states.setdefault(path, []).append(state)
            made[name] = state.fact
        return made

    @contextmanager
    def call(
        self, path: str, name: str, *args: Any, at: str | None = None, **kwargs: Any
    ) -> Iterator[list[Any]]:
        """A module call; the block puts its output into the list that it gets."""
        index = len(self.calls)
        parent = self.open[-1] if self.open else None
        times = sum(made.path == path for made in self.calls)
        begin, result = len(self.ops), []
        self.open.append(index)
        self.calls.append(None)  # type: ignore[arg-type]
        nth = kwargs.pop("nth", 1)
        self.calls[index] = self._made(index, path, name, times, parent, args, kwargs)
        yield result
        self.open.pop()
        done = self.calls[index]
        self.calls[index] = ModuleCall(
            index, path, name, times + 1, parent, done.depth, (args, kwargs),
            result[0] if result else None, tuple(self.states.get(path, ())),
            (begin, len(self.ops)), self.span(at, nth),
        )  # fmt: skip

    def _made(self, index, path, name, times, parent, args, kwargs):
        depth = len(self.open) - 1
        return ModuleCall(
            index, path, name, times + 1, parent, depth, (args, kwargs), None, (),
            (0, 0), None,
        )  # fmt: skip

    def op(
        self,
        name: str,
        inputs: list[Fact],
        shape: Shape | list[Shape],
        at: str | None = None,
        *,
        kind: str = "new",
        flops: int | None = None,
        dtype: str | None = None,
        arguments: tuple[tuple[str, Any], ...] = (),
        stride: Shape | None = None,
        nth: int = 1,
        frames: tuple[Frame, ...] = (),
    ) -> Any:
        """Record an op; its output, or the tuple of them when `shape` is a list."""
        shapes = shape if isinstance(shape, list) else [shape]
        dtype = dtype or (inputs[0].dtype if inputs else "float32")
        more: dict[str, Any] = {} if stride is None else {"stride": stride}
        if kind in ("view", "inplace", "same"):
            more["storage"] = inputs[0].storage
        if kind in ("inplace", "same"):
            more["tensor"] = inputs[0].tensor
        outputs = tuple(self.tensor(each, dtype, **more) for each in shapes)
        still = kind in ("view", "same", "read")
        call = self.calls[self.open[-1]]
        span = self.span(at, nth)
        own = frames or ((Frame(span, "forward"),) if span else ())
        self.ops.append(
            Op(
                len(self.ops), name, tuple(inputs), () if kind == "read" else outputs,
                arguments, kind, inputs[0].tensor if kind == "view" else None,  # type: ignore[arg-type]
                span, own, call.path, call.call, flops,
                0 if still else sum(fact.nbytes for fact in inputs),
                0 if still else sum(fact.nbytes for fact in outputs),
            )
        )  # fmt: skip
        return outputs if isinstance(shape, list) else outputs[0]

    def trace(self, target: str, output: Any, **more: Any) -> Trace:
        digest = sha256(self.text.encode()).hexdigest()
        return Trace(
            target, tuple(self.ops), tuple(self.calls),
            tuple(state for own in self.states.values() for state in own), output,
            sources={self.file: Source(self.file, digest, self.text)},
            torch_version="2.13.0", **({"seconds": 0.0042} | more),
        )  # fmt: skip


LENET = '''\
"""A small convolutional network."""

from torch import Tensor, nn
from torch.nn import functional as F


class Net(nn.Module):
    """Two convolutions, each halved by pooling, then three linear layers."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, kernel_size=5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(images)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.flatten(start_dim=1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)
'''


def _conv(run: Run, path: str, x: Fact, shape: Shape, kernel: Shape, at: str) -> Fact:
    own = run.own(path, ("weight", kernel), ("bias", kernel[:1]))
    with run.call(path, "Conv2d", x, at=at) as result:
        flops = 2 * prod(shape) * prod(kernel[1:])
        given = [x, own["weight"], own["bias"]]
        result.append(run.op("F.conv2d", given, shape, at, flops=flops))
    return result[0]


def _linear(run: Run, path: str, x: Fact, size: int, at: str | None, **k: Any) -> Fact:
    own = run.own(path, ("weight", (size, x.shape[-1])), ("bias", (size,)))
    with run.call(path, "Linear", x, at=at, **k) as result:
        result.append(_affine(run, x, own["weight"], own["bias"], at, **k))
    return result[0]


def _affine(
    run: Run, x: Fact, weight: Fact, bias: Fact | None, at: str | None, **k: Any
) -> Fact:
    shape = (*x.shape[:-1], weight.shape[0])
    given = [x, weight] if bias is None else [x, weight, bias]
    return run.op("F.linear", given, shape, at, flops=2 * x.numel * shape[-1], **k)


def _pool(run: Run, x: Fact, at: str) -> Fact:
    b, c, h, w = x.shape
    with run.call("pool", "MaxPool2d", x, at=at) as result:
        result.append(run.op("F.max_pool2d", [x], (b, c, h // 2, w // 2), at))
    return result[0]


def lenet(batch: int = 1024) -> Trace:
    """LeNet-5 on 3 x 32 x 32 images; `pool` is called twice."""
    run = Run("examples/lenet.py", LENET)
    images = run.tensor((batch, 3, 32, 32))
    with run.call("", "Net", images) as result:
        at = "self.conv1(images)"
        x = _conv(run, "conv1", images, (batch, 6, 28, 28), (6, 3, 5, 5), at)
        x = run.op("F.relu", [x], x.shape, "F.relu(self.conv1(images))")
        x = _pool(run, x, "self.pool(F.relu(self.conv1(images)))")
        at = "self.conv2(x)"
        x = _conv(run, "conv2", x, (batch, 16, 10, 10), (16, 6, 5, 5), at)
        x = run.op("F.relu", [x], x.shape, "F.relu(self.conv2(x))")
        x = _pool(run, x, "self.pool(F.relu(self.conv2(x)))")
        x = run.op(
            "Tensor.flatten", [x], (batch, 400), "x.flatten(start_dim=1)", kind="view",
            arguments=(("start_dim", 1),),
        )  # fmt: skip
        for path, size in (("fc1", 120), ("fc2", 84)):
            x = _linear(run, path, x, size, f"self.{path}(x)")
            x = run.op("F.relu", [x], x.shape, f"F.relu(self.{path}(x))")
        result.append(_linear(run, "fc3", x, 10, "self.fc3(x)"))
    return run.trace("examples/lenet.py:Net", result[0], letters={"B": batch})


GPT = """\
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        q = q.view(B, T, 12, C // 12).transpose(1, 2)
        k = k.view(B, T, 12, C // 12).transpose(1, 2)
        v = v.view(B, T, 12, C // 12).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class MLP(nn.Module):
    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class GPT(nn.Module):
    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        return self.lm_head(x)
"""


def _norm(run: Run, path: str, x: Fact, at: str) -> Fact:
    own = run.own(path, ("weight", x.shape[-1:]), ("bias", x.shape[-1:]))
    with run.call(path, "LayerNorm", x, at=at) as result:
        given = [x, own["weight"], own["bias"]]
        result.append(run.op("F.layer_norm", given, x.shape, at))
    return result[0]


def _attention(run: Run, path: str, x: Fact) -> Fact:
    b, t, c = x.shape
    with run.call(path, "Attention", x, at="self.attn(self.ln_1(x))") as result:
        y = _linear(run, f"{path}.c_attn", x, 3 * c, "self.c_attn(x)")
        parts = run.op(
            "Tensor.split", [y], [(b, t, c)] * 3, "self.c_attn(x).split(C, dim=2)",
            kind="view", stride=(3 * t * c, 3 * c, 1), arguments=(("0", c), ("dim", 2)),
        )  # fmt: skip
        heads = []
        for name, part in zip("qkv", parts, strict=True):
            at = f"{name}.view(B, T, 12, C // 12)"
            y = run.op(
                "Tensor.view", [part], (b, t, 12, c // 12), at, kind="view",
                stride=(3 * t * c, 3 * c, c // 12, 1),
                arguments=tuple(zip("0123", (b, t, 12, c // 12), strict=True)),
            )  # fmt: skip
            heads.append(_turned(run, y, f"{at}.transpose(1, 2)"))
        at = "F.scaled_dot_product_attention(q, k, v, is_causal=True)"
        name = "F.scaled_dot_product_attention"
        y = run.op(name, heads, heads[0].shape, at, flops=4 * b * t * t * c)
        at = "y.transpose(1, 2)"
        y = _turned(run, y, at)
        y = run.op("Tensor.reshape", [y], (b, t, c), f"{at}.reshape(B, T, C)",
                   kind="copy")  # fmt: skip
        result.append(_linear(run, f"{path}.c_proj", y, c, "self.c_proj(y)"))
    return result[0]


def _turned(run: Run, x: Fact, at: str) -> Fact:
    a, b, c, d = x.shape
    assert x.stride is not None
    e, f, g, h = x.stride
    return run.op(
        "Tensor.transpose", [x], (a, c, b, d), at, kind="view", stride=(e, g, f, h),
        arguments=(("0", 1), ("1", 2)),
    )  # fmt: skip


def _mlp(run: Run, path: str, x: Fact) -> Fact:
    with run.call(path, "MLP", x, at="self.mlp(self.ln_2(x))") as result:
        y = _linear(run, f"{path}.c_fc", x, 4 * x.shape[-1], "self.c_fc(x)")
        y = run.op("F.gelu", [y], y.shape, "F.gelu(self.c_fc(x))")
        at = "self.c_proj(F.gelu(self.c_fc(x)))"
        result.append(_linear(run, f"{path}.c_proj", y, x.shape[-1], at))
    return result[0]


def _block(run: Run, path: str, x: Fact) -> Fact:
    with run.call(path, "Block", x, at="block(x)") as result:
        y = _norm(run, f"{path}.ln_1", x, "self.ln_1(x)")
        y = _attention(run, f"{path}.attn", y)
        x = run.op("+", [x, y], x.shape, "x + self.attn(self.ln_1(x))")
        y = _norm(run, f"{path}.ln_2", x, "self.ln_2(x)")
        y = _mlp(run, f"{path}.mlp", y)
        result.append(run.op("+", [x, y], x.shape, "x + self.mlp(self.ln_2(x))"))
    return result[0]


def _embedding(run: Run, path: str, x: Fact, rows: int, at: str) -> Fact:
    own = run.own(path, ("weight", (rows, 768)))
    with run.call(path, "Embedding", x, at=at) as result:
        shape, given = (*x.shape, 768), [own["weight"], x]
        result.append(run.op("F.embedding", given, shape, at))
    return result[0]


def gpt(layers: int = 12, batch: int = 1, length: int = 128) -> Trace:
    """GPT-2 small: the output layer is tied to the embedding."""
    run = Run("gpt.py", GPT)
    tokens = run.tensor((batch, length), "int64")
    with run.call("", "GPT", tokens) as result:
        at = "torch.arange(tokens.shape[1], device=tokens.device)"
        where = run.op("torch.arange", [], (length,), at, dtype="int64")
        x = _embedding(run, "wte", tokens, 50257, "self.wte(tokens)")
        y = _embedding(run, "wpe", where, 1024, "self.wpe(positions)")
        x = run.op("+", [x, y], x.shape, "self.wte(tokens) + self.wpe(positions)")
        for layer in range(layers):
            x = _block(run, f"h.{layer}", x)
        x = _norm(run, "ln_f", x, "self.ln_f(x)")
        own = run.own("lm_head", ("weight", "wte.weight"))
        with run.call("lm_head", "Linear", x, at="self.lm_head(x)") as inner:
            inner.append(_affine(run, x, own["weight"], None, "self.lm_head(x)"))
        result.append(inner[0])
    return run.trace("gpt.py:GPT", result[0], seconds=0.0131)


NESTED = """\
class Decoder(nn.Module):
    def forward(self, x, *, past=None):
        cache = [x.view(2, 16, 12, 64).transpose(1, 2) for layer in range(12)]
        return {"hidden": x, "cache": (cache, None), "scale": 0.5}
"""


def nested() -> Trace:
    """Outputs in a dict of tuples and lists; keyword inputs; an assumption."""
    run = Run("decoder.py", NESTED)
    x = run.tensor((2, 16, 768), "bfloat16")
    mask = run.tensor((2, 16), "bool")
    with run.call("", "Decoder", x, past={"mask": mask, "length": 0}) as result:
        at = "x.view(2, 16, 12, 64)"
        cache = []
        for _ in range(12):
            y = run.op("Tensor.view", [x], (2, 16, 12, 64), at, kind="view")
            cache.append(_turned(run, y, f"{at}.transpose(1, 2)"))
        result.append({"hidden": x, "cache": (cache, None), "scale": 0.5})
    supposed = Assumption("assumed every expert gets T*k/E tokens", run.span(at), 12)
    return run.trace(
        "decoder.py:Decoder", result[0], assumptions=(supposed,),
        notes=("`torch.compile`d module `decoder` ran uncompiled",), training=True,
    )  # fmt: skip


def failed() -> Trace:
    """LeNet with a `fc1` that does not fit; the run ended there."""
    text = LENET.replace("16 * 5 * 5, 120", "256, 120")
    run = Run("model.py", text)
    x = run.tensor((1024, 3, 32, 32))
    with run.call("", "Net", x):
        at = "self.conv1(images)"
        x = _conv(run, "conv1", x, (1024, 6, 28, 28), (6, 3, 5, 5), at)
        x = run.op("F.relu", [x], x.shape, "F.relu(self.conv1(images))")
        x = _pool(run, x, "self.pool(F.relu(self.conv1(images)))")
        x = _conv(run, "conv2", x, (1024, 16, 10, 10), (16, 6, 5, 5), "self.conv2(x)")
        x = run.op("F.relu", [x], x.shape, "F.relu(self.conv2(x))")
        x = _pool(run, x, "self.pool(F.relu(self.conv2(x)))")
        at = "x.flatten(start_dim=1)"
        x = run.op("Tensor.flatten", [x], (1024, 400), at, kind="view")
        run.own("fc1", ("weight", (120, 256)), ("bias", (120,)))
        with run.call("fc1", "Linear", x, at="self.fc1(x)"):
            pass
    made, got = run.span("nn.Linear(256, 120)"), run.span(at)
    finding = Finding(
        "inner-dim-mismatch", "error", "linear needs 256 input features, got 400",
        run.span("self.fc1(x)"), "fc1",
        "mat1 and mat2 shapes cannot be multiplied (1024x400 and 256x120)",
        (Related(made, "256 is `in_features` of `fc1`"),
         Related(got, "400 = 16*5*5, flattened from (1024, 16, 5, 5) of `conv2`")),
    )  # fmt: skip
    return run.trace("model.py:Net", None, findings=(finding,), complete=False)


TWICE = """\
class Siamese(nn.Module):
    def forward(self, left, right):
        left = self.tower(left)
        right = self.tower(right)
        left += right
        for step in range(50):
            left = self.cell(left)
        return self.head(left), left.shape[0]
"""


def twice() -> Trace:
    """A tower called twice on different lengths, a cell fifty times, shared weights."""
    run = Run("siamese.py", TWICE)
    left, right = run.tensor((8, 32)), run.tensor((8, 32))
    tower = run.own("tower", ("weight", (64, 32)), ("bias", (64,)))
    run.own(
        "cell",
        ("weight", (64, 64)),
        ("steps", (), {"buffer": True, "dtype": "int64"}),
        ("scratch", (64,), {"buffer": True, "saved": False}),
    )
    head = run.own("head", ("weight", (10, 64), {"requires_grad": False}))
    run.own("aux", ("weight", (64, 64)))
    run.own("shadow", ("weight", "tower.weight"))
    with run.call("", "Siamese", left, right) as result:
        outs = []
        for x, at in ((left, "self.tower(left)"), (right, "self.tower(right)")):
            with run.call("tower", "Linear", x, at=at) as inner:
                weight, bias = tower["weight"], tower["bias"]
                inner.append(_affine(run, x, weight, bias, at))
            outs.append(inner[0])
        x = run.op("+=", outs, (8, 64), "left += right", kind="inplace")
        weight = run.states["cell"][0].fact
        for _ in range(50):
            with run.call("cell", "Cell", x, at="self.cell(left)") as inner:
                x = _affine(run, x, weight, None, "self.cell(left)")
                inner.append(x)
        with run.call("head", "Linear", x, at="self.head(left)") as inner:
            inner.append(_affine(run, x, head["weight"], None, "self.head(left)"))
        result.append((inner[0], 8))
    return run.trace("siamese.py:Siamese", result[0])


ALL = {
    "lenet": lenet, "gpt": gpt, "nested": nested, "failed": failed, "twice": twice,
}  # fmt: skip
