"""Random calls of torch's attention layers, in evaluation and in training."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

WIDTH = 8


class Chance(random.Random):
    """A source of random arguments."""

    def seldom(self, usual: Any, rare: Any, share: float = 0.08) -> Any:
        return rare if self.random() < share else usual

    def truth(self, share: float = 0.5) -> bool:
        return self.random() < share


@dataclass(frozen=True, slots=True)
class Program:
    """A module, its arguments, and how it is called."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grad: str
    autocast: torch.dtype | None
    default_device: bool
    trains: bool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.trains:  # so that torch's autograd runs below every call of a trace
            torch.ones(2, requires_grad=True).sum().backward()
        with self.settings():
            return self.module(*args, **kwargs)

    @contextmanager
    def settings(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self.grad == "no_grad":
                stack.enter_context(torch.no_grad())
            if self.grad == "inference":
                stack.enter_context(torch.inference_mode())
            if self.autocast is not None:
                stack.enter_context(torch.autocast("cpu", dtype=self.autocast))
            if self.default_device:
                stack.enter_context(torch.device("cpu"))
            yield


def program_of(seed: int) -> Program:
    """The program of a seed, the same each time that it is built."""
    chance = Chance(seed)
    torch.manual_seed(seed)
    make = chance.choice(
        [encoder, encoder, encoder, layer, layer, attention, attention, decoder, whole]
    )
    module, args, kwargs = make(chance)
    dtype = chance.seldom(torch.float32, chance.choice(DTYPES), 0.1)
    module = module.to(dtype)
    args = tuple(recast(value, dtype) for value in args)
    kwargs = {name: recast(value, dtype) for name, value in kwargs.items()}
    autocast = chance.choice([None] * 10 + [torch.bfloat16, torch.float16])
    empty = not args[0].numel()
    if chance.truth(0.06) and not autocast and not empty:
        args = (args[0].to(chance.choice([*DTYPES, torch.int64])), *args[1:])
    module.train(chance.truth(0.2))
    if chance.truth(0.1):  # one of the modules inside is in the other mode
        chance.choice(list(module.modules())).train(chance.truth())
    if chance.truth(0.3):
        module.requires_grad_(False)
    if chance.truth(0.1):
        chance.choice(list(module.parameters())).requires_grad_(False)
    if chance.truth(0.1):
        hook = chance.choice([nothing, nothing, sizes, length, mean])
        chance.choice(list(module.modules())).register_forward_hook(hook)
    return Program(
        module,
        args,
        kwargs,
        chance.choice(["no_grad", "no_grad", "inference", "grad"]),
        None if empty else autocast,
        chance.truth(0.05),
        chance.truth(0.2),
    )


DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def recast(value: Any, dtype: torch.dtype) -> Any:
    """Floats have the dtype of the module."""
    floats = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if floats else value


def nothing(module: nn.Module, given: Any, out: Any) -> None:
    """A hook that only makes layers take their written-out path."""


def sizes(module: nn.Module, given: Any, out: Any) -> None:
    """A hook that reads a shape."""
    first = out[0] if isinstance(out, tuple) else out
    assert len(first.shape) < 5


def length(module: nn.Module, given: Any, out: Any) -> None:
    """A hook that reads the length of the samples."""
    first = out[0] if isinstance(out, tuple) else out
    assert first.size(1) < 99


def mean(module: nn.Module, given: Any, out: Any) -> None:
    """A hook that computes."""
    first = out[0] if isinstance(out, tuple) else out
    assert first.mean(dim=1) is not None


Made = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]
Make = Callable[[Chance], Made]


def layer_options(chance: Chance) -> dict[str, Any]:
    """Options of an encoder layer and of a decoder layer."""
    return {
        "d_model": WIDTH,
        "nhead": chance.seldom(chance.choice([2, 4]), 1),
        "dim_feedforward": 12,
        "dropout": chance.choice([0.0, 0.1]),
        "batch_first": not chance.truth(0.15),
        "norm_first": chance.truth(0.25),
        "bias": not chance.truth(0.08),
        "activation": chance.choice(
            ["relu", "gelu", nn.functional.gelu, nn.GELU(), nn.functional.silu]
        ),
    }


def batch(chance: Chance, first: bool) -> tuple[torch.Tensor, int, int]:
    """A sequence, with the number of samples and their length."""
    samples = chance.seldom(chance.choice([1, 2, 3]), 0, 0.03)
    steps = chance.seldom(chance.choice([1, 3, 5]), 0, 0.03)
    width = chance.seldom(WIDTH, 6, 0.04)
    x = torch.randn((samples, steps, width) if first else (steps, samples, width))
    if chance.truth(0.15):
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    if chance.truth(0.08):
        return (x[0] if first else x[:, 0]) if samples and steps else x, samples, steps
    return x.requires_grad_(chance.truth(0.1)), samples, steps


def attention_mask(chance: Chance, samples: int, steps: int, heads: int) -> Any:
    """A mask of queries and keys, causal or not, mostly of the right size."""
    size = chance.seldom(steps, steps + 1, 0.15)
    mask = torch.ones(size, size, dtype=torch.bool).triu(1)
    if chance.truth(0.2):
        mask = mask.logical_and(torch.rand(size, size) < 0.5)
    if chance.truth(0.25):
        count = chance.seldom(samples * heads, samples, 0.3)
        mask = mask.expand(count, size, size)
    return of_kind(chance, mask)


def padding_mask(chance: Chance, samples: int, steps: int) -> torch.Tensor:
    """A mask of what is padding, mostly at the ends, mostly of the right size."""
    count = chance.seldom(samples, samples + 1)
    size = chance.seldom(steps, steps + 1)
    lengths = torch.randint(0, size + 1, (count, 1))
    if chance.truth(0.7):
        lengths = lengths.clamp(min=1)
    mask = torch.arange(size).expand(count, size) >= lengths
    if chance.truth(0.15):
        mask = mask.flip(1)
    if chance.truth(0.05):
        mask = mask[:, None]
    return of_kind(chance, mask)


def of_kind(chance: Chance, mask: torch.Tensor) -> torch.Tensor:
    """A mask of truths, or of what is added to the scores."""
    if chance.truth(0.6):
        return mask
    made = torch.zeros(mask.shape).masked_fill(mask, float("-inf"))
    return chance.seldom(made, mask.long(), 0.05)  # type: ignore[no-any-return]


def masks(chance: Chance, samples: int, steps: int, heads: int) -> dict[str, Any]:
    """The masks of an encoder, and whether one is said to be causal."""
    found: dict[str, Any] = {}
    if chance.truth(0.4):
        found["mask"] = attention_mask(chance, samples, steps, heads)
    if chance.truth(0.5):
        found["src_key_padding_mask"] = padding_mask(chance, samples, steps)
    if chance.truth(0.3):
        found["is_causal"] = chance.truth(0.8)
    return found


def encoder(chance: Chance) -> Made:
    """`nn.TransformerEncoder`."""
    options = layer_options(chance)
    x, samples, steps = batch(chance, options["batch_first"])
    module = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**options),
        2,
        chance.choice([None, nn.LayerNorm(WIDTH)]),
        enable_nested_tensor=chance.truth(0.85),
        mask_check=chance.truth(0.85),
    )
    return module, (x,), masks(chance, samples, steps, options["nhead"])


def layer(chance: Chance) -> Made:
    """`nn.TransformerEncoderLayer`."""
    options = layer_options(chance)
    x, samples, steps = batch(chance, options["batch_first"])
    named = masks(chance, samples, steps, options["nhead"])
    if "mask" in named:
        named["src_mask"] = named.pop("mask")
    module = nn.TransformerEncoderLayer(**options)
    if chance.truth(0.05):
        module.norm1.eps = 1e-3
    return module, (x,), named


def attention(chance: Chance) -> Made:
    """`nn.MultiheadAttention`, mostly of a sequence to itself."""
    heads = chance.seldom(chance.choice([2, 4]), 1)
    options = {
        "bias": not chance.truth(0.1),
        "add_bias_kv": chance.truth(0.05),
        "add_zero_attn": chance.truth(0.05),
        "batch_first": not chance.truth(0.2),
    }
    if chance.truth(0.06):
        options |= {"kdim": WIDTH, "vdim": 6}
    x, samples, steps = batch(chance, options["batch_first"])
    named = masks(chance, samples, steps, heads)
    for old, new in (
        ("mask", "attn_mask"),
        ("src_key_padding_mask", "key_padding_mask"),
    ):
        if old in named:
            named[new] = named.pop(old)
    named["need_weights"] = chance.truth()
    named["average_attn_weights"] = chance.truth(0.7)
    value = x.clone() if chance.truth(0.1) else x
    module = nn.MultiheadAttention(WIDTH, heads, **options)
    if "kdim" in options:
        value = x[..., :6]
    return module, (x, x, value), named


def decoder(chance: Chance) -> Made:
    """`nn.TransformerDecoder`."""
    options = layer_options(chance)
    first = options["batch_first"]
    x, samples, steps = batch(chance, first)
    module = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), 1)
    memory = x.detach()
    named: dict[str, Any] = {}
    if chance.truth(0.5):
        named["tgt_mask"] = attention_mask(chance, samples, steps, options["nhead"])
    if chance.truth(0.3):
        named["tgt_is_causal"] = chance.truth(0.8)
    if chance.truth(0.4):
        named["tgt_key_padding_mask"] = padding_mask(chance, samples, steps)
    if chance.truth(0.4):
        named["memory_key_padding_mask"] = padding_mask(chance, samples, steps)
    return module, (x, memory), named


def whole(chance: Chance) -> Made:
    """`nn.Transformer`."""
    options = layer_options(chance)
    x, samples, steps = batch(chance, options["batch_first"])
    module = nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **options)
    named: dict[str, Any] = {}
    for name in ("src_key_padding_mask", "memory_key_padding_mask"):
        if chance.truth(0.4):
            named[name] = padding_mask(chance, samples, steps)
    if chance.truth(0.4):
        named["tgt_mask"] = attention_mask(chance, samples, steps, options["nhead"])
        named["tgt_is_causal"] = chance.choice([None, True, False])
    return module, (x, x.detach()), named
