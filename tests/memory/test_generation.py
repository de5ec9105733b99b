"""The memory of a generation: the prompt, the cache, the last token."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import shapewright as sw
from memory.test_real_allocations import profile_peaks, sum_storages
from shapewright.inputs.errors import InputError
from shapewright.record.memory import DECODE, LAST_TOKEN, PREFILL, Generation, Memory
from shapewright.runtime.memory.generation import _count_bytes


class Block(nn.Module):
    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.heads, self.window = heads, window

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None) -> Any:
        shape = *x.shape[:2], self.heads, -1
        q, k, v = (t.reshape(shape).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        k, v = k.contiguous(), v.contiguous()
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        if self.window:
            k, v = k[:, :, -self.window :].clone(), v[:, :, -self.window :].clone()
        y = F.scaled_dot_product_attention(q, k, v, is_causal=False)
        return x + self.out(y.transpose(1, 2).flatten(2)), (k, v)


class Decoder(nn.Module):
    """A decoder that returns its cache, as those of transformers do."""

    def __init__(self, width: int = 64, heads: int = 4, window: int = 0) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, width)
        self.blocks = nn.ModuleList([Block(width, heads, window) for _ in range(3)])
        self.head = nn.Linear(width, 100)

    def forward(
        self,
        input_ids: Tensor,
        past_key_values: Any = None,
        use_cache: bool = True,
    ) -> SimpleNamespace:
        x = self.embed(input_ids)
        cache = []
        for at, block in enumerate(self.blocks):
            past = None if past_key_values is None else past_key_values[at]
            x, pair = block(x, past)
            cache.append(pair)
        logits = self.head(x[:, -1:])
        return SimpleNamespace(logits=logits, past_key_values=tuple(cache))


def find_phase_peaks(memory: Memory) -> dict[str, int]:
    sizes: dict[int, int] = {}
    peaks: dict[str, int] = {}
    for event in memory.events.events:
        sizes[event.storage] = event.bytes
        total = sum(sizes.values())
        peaks[event.phase] = max(peaks.get(event.phase, 0), total)
    return peaks


def measure_tokens(model: nn.Module, ids: Tensor, tokens: int) -> list[int]:
    """Return the most bytes while each token is generated, really."""
    peaks = []
    base = [*model.parameters(), ids]
    cache: Any = None
    for at in range(tokens):
        step = ids if not at else ids.new_zeros(ids.shape[0], 1)

        def run(step: Tensor = step) -> None:
            nonlocal cache
            with torch.no_grad():
                cache = model(step, past_key_values=cache).past_key_values

        held = [t for pair in cache or () for t in pair]
        gc.collect()
        more = [step] if at else []
        live = sum_storages([*base, *held, *more])
        peaks.append(max(profile_peaks(run, live).values()))
    return peaks


def get_generation(memory: Memory) -> Generation:
    assert memory.complete
    assert memory.generation is not None
    return memory.generation


def test_each_token_takes_what_it_takes_in_a_real_generation() -> None:
    model, ids = Decoder(), torch.zeros(2, 32, dtype=torch.int64)
    memory = sw.memory(model, ids, generate=12)
    peaks = find_phase_peaks(memory)
    real = measure_tokens(model, ids, 12)
    assert abs(peaks[PREFILL] - real[0]) <= 16
    assert abs(peaks[DECODE] - real[3]) <= 16
    assert abs(peaks[LAST_TOKEN] - real[-1]) <= 16


def count_flops(model: nn.Module, ids: Tensor, tokens: int) -> list[int]:
    """Return the FLOPs of each token of a real generation, as torch counts them."""
    flops, cache = [], None
    for at in range(tokens):
        step = ids if not at else ids.new_zeros(ids.shape[0], 1)
        with (
            FlopCounterMode(display=False) as counter,
            sdpa_kernel(SDPBackend.MATH),  # of the kernel for the CPU none are counted
            torch.no_grad(),
        ):
            cache = model(step, past_key_values=cache).past_key_values
        flops.append(counter.get_total_flops())
    return flops


def test_arithmetic_is_that_of_the_prompt_and_of_one_token() -> None:
    model, ids = Decoder(), torch.zeros(2, 32, dtype=torch.int64)
    real = count_flops(model, ids, 40)
    memory = sw.memory(model, ids, generate=40, device="A100")
    seen: dict[str, int] = {}
    for (phase, _), count in memory.events.sum_flops().items():
        seen[phase] = seen.get(phase, 0) + count
    assert seen == {PREFILL: real[0], DECODE: real[1], LAST_TOKEN: real[-1]}
    assert memory.flops == real[0] + real[1] + real[-1]
    text = str(memory)
    assert "for the prompt, " in text
    assert "for the last token, by data-sheet rates" in " ".join(text.split())
    assert " a step" not in text


def test_the_cache_has_bytes_for_each_token() -> None:
    memory = sw.memory(Decoder(), "i64[B=2, T=32]", generate=40)
    generation = get_generation(memory)
    token = 3 * 2 * 2 * 64 * 4  # blocks, keys and values, batch, width, bytes
    assert generation.cache_per_token == token
    assert generation.cache_of_prompt == 32 * token
    assert generation.cache == (32 + 39) * token
    assert memory.peak.kinds["cache"] >= 31 * token
    assert "for each" in str(memory)


def test_a_cache_in_bfloat16_takes_half() -> None:
    whole = get_generation(sw.memory(Decoder(), "i64[2, 32]", generate=40))
    half = sw.memory(Decoder().to(torch.bfloat16), "i64[2, 32]", generate=40)
    assert get_generation(half).cache == whole.cache // 2


def test_a_window_ends_the_growth() -> None:
    generation = get_generation(
        sw.memory(Decoder(window=34), "i64[2, 32]", generate=40)
    )
    assert generation.cache == 34 * 3 * 2 * 2 * 64 * 4
    assert generation.cache_per_token is None


def test_few_tokens_run_all() -> None:
    memory = sw.memory(Decoder(), "i64[2, 32]", generate=2, device="A100")
    assert get_generation(memory).tokens == 2
    assert not any("the last one ran" in note for note in memory.notes)
    assert LAST_TOKEN not in find_phase_peaks(memory)
    long = sw.memory(Decoder(), "i64[2, 32]", generate=50, device="A100")
    assert any("the last one ran" in note for note in long.notes)
    assert long.verdict == "fits"
    assert long.to_dict()["generation"]["tokens"] == 50


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (Decoder, {"generate": -1}, "cannot be generated"),
        (Decoder, {"generate": 4, "what_if": "bf16"}, "not on a generation"),
        (
            lambda: nn.Embedding(10, 4),
            {"generate": 5},
            "no cache comes with the output",
        ),
    ],
)
def test_options_without_a_meaning(
    make: Callable[[], nn.Module], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        sw.memory(make(), "i64[2, 8]", **options)


def test_a_model_of_images_generates_nothing() -> None:
    with pytest.raises(InputError, match="no prompt of token numbers"):
        sw.memory(nn.Conv2d(3, 8, 3), "f32[2, 3, 8, 8]", generate=5)


class WeightOnly(nn.Module):
    """A linear layer whose weights are int8, or two numbers of 4 bits in a byte."""

    def __init__(self, bits: int) -> None:
        super().__init__()
        columns = 256 * bits // 8
        self.register_buffer("weight", torch.ones(512, columns, dtype=torch.uint8))
        self.register_buffer("scale", torch.ones(512, 1, dtype=torch.bfloat16))
        self.bits = bits

    def forward(self, x: Tensor) -> Tensor:
        weight: Any = self.weight
        if self.bits == 4:
            low, high = weight & 15, weight >> 4
            weight = torch.stack((low, high), -1).flatten(1)
        return F.linear(x, weight.to(x.dtype) * self.scale)


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_count_in_the_dtype_that_they_have(bits: int) -> None:
    model = WeightOnly(bits).eval()
    x = torch.randn(8, 256, dtype=torch.bfloat16)
    memory = sw.memory(model, x)
    assert memory.peak.kinds["buffers"] == 512 * 256 * bits // 8 + 512 * 2

    def run() -> None:
        with torch.no_grad():
            model(x)

    base = sum_storages([*model.buffers(), x])
    real = max(profile_peaks(run, base).values())
    assert 0 <= real - memory.peak.bytes <= 16


def test_parameters_loaded_in_bfloat16_count_in_it() -> None:
    model = nn.Linear(512, 512, bias=False).to(torch.bfloat16)
    memory = sw.memory(model, "bf16[4, 512]", training=False)
    assert memory.peak.kinds["parameters"] == 512 * 512 * 2


@pytest.mark.zoo
@pytest.mark.parametrize("name", ["Llama", "Mistral", "Gemma2"])
def test_the_cache_of_transformers_is_that_of_a_real_generation(name: str) -> None:
    transformers = pytest.importorskip("transformers")
    options: dict[str, Any] = {} if name == "Llama" else {"sliding_window": 24}
    config = getattr(transformers, f"{name}Config")(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, head_dim=16,
        num_key_value_heads=2, intermediate_size=64, vocab_size=100, **options,
    )  # fmt: skip
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    generation = get_generation(sw.memory(model, "i64[2, 16]", generate=30))
    cache: Any = None
    step = torch.zeros(2, 16, dtype=torch.int64)
    with torch.no_grad():
        for _ in range(30):
            output = model(step, past_key_values=cache, use_cache=True)
            cache, step = output.past_key_values, step[:, :1]
    assert generation.cache == _count_bytes(cache)
