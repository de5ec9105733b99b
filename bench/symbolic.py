"""All formulas of a model against torch's own symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import shapewright as sw
from bench.models import GPT2, Llama, ResNet50, ViT, uninitialised
from bench.report import Section
from bench.timing import Prepare, Rounds, interleaved

FASTER = 15
"""The bar: how many times faster than torch's symbolic run."""

RUNS = {2: 12, 3: 24}
"""The bar: runs at most, for two letters and for three."""


class Resized(ViT):
    """ViT-B/16 whose positions are resized to the image."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x)
        rows, columns = x.shape[2], x.shape[3]
        x = x.flatten(2).transpose(1, 2)
        grid = self.position[:, 1:].reshape(1, 14, 14, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(rows, columns), mode="bilinear")
        grid = grid.flatten(2).transpose(1, 2)
        position = torch.cat((self.position[:, :1], grid), dim=1)
        token = self.token.expand(x.shape[0], -1, -1)
        x = torch.cat((token, x), dim=1) + position
        return self.head(self.norm(self.blocks(x))[:, 0])


def double(inputs: int, outputs: int) -> nn.Module:
    """Two convolutions with norms, as a U-Net has them."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """Four halvings and four doublings."""

    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        wide = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(
            double(inputs, outputs)
            for inputs, outputs in zip([3, *wide], wide, strict=False)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(wide[:-1])
        )
        self.join = nn.ModuleList(double(2 * w, w) for w in reversed(wide[:-1]))
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for at, block in enumerate(self.down):
            x = block(x if at == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for up, join, skip in zip(self.up, self.join, skips[-2::-1], strict=True):
            x = join(torch.cat((skip, up(x)), dim=1))
        return self.head(x)


class WindowBlock(nn.Module):
    """Attention within padded windows of 7, every second time shifted."""

    def __init__(self, width: int, heads: int, shift: int) -> None:
        super().__init__()
        self.heads, self.shift = heads, shift
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        B, H, W, C = x.shape
        y = F.pad(self.norm1(x), (0, 0, 0, (7 - W % 7) % 7, 0, (7 - H % 7) % 7))
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        h, w = y.shape[1] // 7, y.shape[2] // 7
        y = y.view(B, h, 7, w, 7, C).transpose(2, 3).reshape(B * h * w, 49, C)
        y = self.qkv(y).reshape(B * h * w, 49, 3, self.heads, C // self.heads)
        q, k, v = y.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        y = self.out(y.transpose(1, 2).reshape(B * h * w, 49, C))
        y = y.view(B, h, w, 7, 7, C).transpose(2, 3).reshape(B, h * 7, w * 7, C)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y[:, :H, :W]
        return x + self.feed(self.norm2(x))


class Windowed(nn.Module):
    """Four blocks of windows over patches of 4."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.blocks = nn.Sequential(
            *(WindowBlock(width, 3, 3 * (at % 2)) for at in range(4))
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.patches(x).permute(0, 2, 3, 1))


class Recurrent(nn.Module):
    """Token ids through two layers of an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10_000, 256)
        self.lstm = nn.LSTM(256, 512, 2, batch_first=True)
        self.head = nn.Linear(512, 10_000)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embed(tokens))[0])


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, and its input with letters; `sizes` lead torch's run."""

    build: Callable[[], nn.Module]
    shape: tuple[str | int, ...]
    dtype: torch.dtype
    sizes: dict[str, int]

    @property
    def spec(self) -> str:
        """As `sw.formulas` takes it."""
        kind = "i64" if self.dtype is torch.int64 else "f32"
        return f"{kind}[{', '.join(map(str, self.shape))}]"

    def model(self) -> nn.Module:
        """Without data, in evaluation mode."""
        with torch.device("meta"), uninitialised():
            return self.build().eval()


def text(build: Callable[[], nn.Module]) -> Subject:
    """A model of token ids."""
    return Subject(build, ("B", "T"), torch.int64, {"B": 5, "T": 48})


def image(build: Callable[[], nn.Module]) -> Subject:
    """A model of images."""
    sizes = {"B": 5, "H": 224, "W": 256}
    return Subject(build, ("B", 3, "H", "W"), torch.float32, sizes)


SUBJECTS = {
    "GPT-2 small (B, T)": text(GPT2),
    "Llama-8B (B, T)": text(Llama),
    "ResNet-50 (B, H, W)": image(ResNet50),
    "ViT-B/16, positions resized (B, H, W)": image(Resized),
    "U-Net (B, H, W)": image(UNet),
    "windows of 7 (B, H, W)": image(Windowed),
    "LSTM (B, T)": text(Recurrent),
}


def formulas(subject: Subject, *, read: bool = False) -> Prepare:
    """All formulas; with `read`, each op and each module call read as well."""

    def prepare() -> Callable[[], object]:
        model = subject.model()

        def run() -> sw.Trace:
            trace = sw.formulas(model, subject.spec)
            assert trace.formulas is not None, trace.findings
            if read:
                list(trace.ops), list(trace.calls)
            return trace

        return run

    return prepare


def states_of(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers, tied ones once."""
    yield from model.named_parameters()
    yield from model.named_buffers()


def symbolic(subject: Subject, *, dispatcher: bool) -> Prepare:
    """The model's forward under fake tensors with a symbol for each letter.

    With `dispatcher` as `torch.export` has it; without it is faster, and some
    operators refuse.
    """

    def prepare() -> Callable[[], object]:
        from sympy.core.cache import clear_cache
        from torch._dispatch.python import enable_python_dispatcher
        from torch._dynamo.source import ConstantSource
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

        FakeTensorMode.cache_clear()
        clear_cache()
        model = subject.model()
        env: Any = ShapeEnv()
        mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
        with mode:
            states = {
                name: torch.empty_strided(each.shape, each.stride(), dtype=each.dtype)
                for name, each in states_of(model)
            }

        def letter(name: str) -> Any:
            source, size = ConstantSource(name), subject.sizes[name]
            made = env.create_symbol(size, source, dynamic_dim=DimDynamic.DYNAMIC)
            return env.create_symintnode(made, hint=size, source=source)

        def run() -> object:
            letters = {name: letter(name) for name in subject.sizes}
            shape = tuple(letters.get(str(size), size) for size in subject.shape)
            with mode, enable_python_dispatcher() if dispatcher else nullcontext():
                given = torch.empty(shape, dtype=subject.dtype)
                return torch.func.functional_call(model, states, (given,))

        return run

    return prepare


def median(measured: Rounds, who: str) -> float:
    """Seconds of a subject."""
    return measured.time(who).median


def section(rounds: int) -> Section:
    """Every subject, both ways."""
    rows, met = [], True
    for name, subject in SUBJECTS.items():
        measured = interleaved(
            {
                "ours": formulas(subject),
                "read": formulas(subject, read=True),
                "fake": symbolic(subject, dispatcher=False),
                "export": symbolic(subject, dispatcher=True),
            },
            max(5, rounds // 3),
        )
        torchs = [who for who in ("fake", "export") if who in measured.seconds]
        fastest = min(torchs, key=partial(median, measured), default="")
        trace = formulas(subject)()()
        assert isinstance(trace, sw.Trace)
        assert trace.formulas is not None
        tried, most = trace.formulas.tried, RUNS[len(subject.sizes)]
        cells = [name, measured.time("ours").text(0, 1e3)]
        if not fastest:
            rows.append((*cells, "refuses", "", "", f"{tried} (bar {most})"))
            continue
        ratio = measured.ratio(fastest, "ours")
        good = ratio.median >= FASTER and tried <= most
        met = met and good
        word = "met" if ratio.median >= FASTER else "**not met**"
        rows.append(
            (
                *cells,
                f"{measured.time(fastest).text(0, 1e3)} ({fastest})",
                f"{ratio.text(1)}, {word} (bar {FASTER})",
                measured.ratio(fastest, "read").text(1),
                f"{tried} ({'met' if tried <= most else '**not met**'}, bar {most})",
            )
        )
    return Section(
        "Formulas against torch's symbolic sizes",
        "All formulas by `shapewright.formulas` against one forward under torch's fake"
        " tensors with the same letters as symbols, everything imported, the model's"
        " parameters made before, what either remembers of earlier runs forgotten."
        " *fake*: without torch's Python dispatcher, *export*:"
        " with it; the faster one that runs is compared. *Read*: with every op and"
        " module call read.",
        (
            "model",
            "formulas, ms",
            "torch's symbolic run, ms",
            "torch / formulas",
            "torch / formulas, read",
            "runs",
        ),
        tuple(rows),
        met,
    )
