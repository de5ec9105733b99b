"""Calls that are explained in words and a scheme: no formula gives their elements.

Initializers draw random numbers: what matters is their range, and which sizes it comes
from. Packing moves rows by their lengths.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from shapewright.index_maps.drawn_calls import Drawn
from shapewright.runtime.operator_calls.drawing import draw_side

INIT = "torch.nn.init."
PACK = "torch.nn.utils.rnn.pack_padded_sequence"


def is_described(name: str) -> bool:
    """Return whether a dotted name is that of a function explained here."""
    if name == PACK:
        return True
    last = name.removeprefix(INIT)
    return name.startswith(INIT) and last.endswith("_") and hasattr(nn.init, last)


def describe_call(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], text: str
) -> Drawn:
    """Return the page of an initializer or of packing, run on these tensors."""
    function: Any = torch
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    tensors = [
        value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)
    ]
    inputs = tuple(draw_side("tensor", tensor) for tensor in tensors[:1])
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        out = function(*args, **kwargs)
    except Exception as error:  # torch refuses the call; it is shown
        message = str(error).partition("\n")[0]
        return Drawn(text, name, inputs, error=message)
    if name == PACK:
        return _describe_packing(out, bound.arguments, inputs, text)
    notes = _describe_initializer(name.removeprefix(INIT), bound.arguments)
    shown = Drawn(text, name, inputs, (draw_side("out", out, "tensor"),))
    return replace(shown, notes=tuple(notes))


# -- initializers ----------------------------------------------------------------------


def _describe_initializer(last: str, named: dict[str, Any]) -> list[str]:
    """Return which numbers an initializer writes, and the sizes they come from."""
    tensor: Tensor = named["tensor"]
    known = SPREADS.get(last)
    if known is not None:
        return [*_describe_fans(tensor), *known(tensor, named)]
    plain = {
        "zeros_": "every element is 0",
        "ones_": "every element is 1",
        "constant_": f"every element is {named.get('val')}",
        "uniform_": f"each element is uniform between {named.get('a')} and "
        f"{named.get('b')}",
        "normal_": f"each element is normal, around {named.get('mean')}, with standard "
        f"deviation {named.get('std')}",
        "trunc_normal_": f"each element is normal, around {named.get('mean')}, with "
        f"standard deviation {named.get('std')}, drawn again outside "
        f"{named.get('a')} to {named.get('b')}",
        "eye_": "1 on the diagonal, 0 elsewhere: the layer hands on its input",
        "dirac_": "1 at the centre of the kernel of each channel to itself, 0 "
        "elsewhere: "
        "the convolution hands on its input",
        "orthogonal_": "rows (or columns, whichever are fewer) that are orthogonal to "
        f"each other, of length {named.get('gain')}",
        "sparse_": f"normal with standard deviation {named.get('std')}, and of each "
        f"column a fraction of {named.get('sparsity')} is 0",
    }
    return [plain.get(last, "torch's own; no words of ours")]


def _describe_fans(tensor: Tensor) -> list[str]:
    """Return fan in and fan out, and the dims that they come from."""
    fan_in, fan_out = _compute_fans(tensor)
    inner = math.prod(tensor.shape[2:])
    window = f" times {inner} elements of the window" if tensor.ndim > 2 else ""
    return [
        f"fan in {fan_in}: the numbers that each output sums, dim 1{window}",
        f"fan out {fan_out}: the outputs that each number goes into, dim 0{window}",
    ]


def _compute_fans(tensor: Tensor) -> tuple[int, int]:
    """Return fan in and fan out of a weight, as torch counts them."""
    inner = math.prod(tensor.shape[2:])
    return tensor.shape[1] * inner, tensor.shape[0] * inner


def _describe_xavier_uniform(tensor: Tensor, named: dict[str, Any]) -> list[str]:
    gain = named["gain"]
    bound = gain * math.sqrt(6 / sum(_compute_fans(tensor)))
    return _describe_uniform(bound, f"{gain:g} * sqrt(6 / (fan in + fan out))")


def _describe_xavier_normal(tensor: Tensor, named: dict[str, Any]) -> list[str]:
    gain = named["gain"]
    std = gain * math.sqrt(2 / sum(_compute_fans(tensor)))
    return _describe_normal(std, f"{gain:g} * sqrt(2 / (fan in + fan out))")


def _describe_kaiming_uniform(tensor: Tensor, named: dict[str, Any]) -> list[str]:
    gain, fan, lines = _read_kaiming(tensor, named)
    words = f"gain * sqrt(3 / {named['mode'].replace('_', ' ')})"
    return [*lines, *_describe_uniform(gain * math.sqrt(3 / fan), words)]


def _describe_kaiming_normal(tensor: Tensor, named: dict[str, Any]) -> list[str]:
    gain, fan, lines = _read_kaiming(tensor, named)
    words = f"gain / sqrt({named['mode'].replace('_', ' ')})"
    return [*lines, *_describe_normal(gain / math.sqrt(fan), words)]


def _read_kaiming(
    tensor: Tensor, named: dict[str, Any]
) -> tuple[float, int, list[str]]:
    """Return gain and fan of a Kaiming initializer, and a line on the gain."""
    fan_in, fan_out = _compute_fans(tensor)
    gain = nn.init.calculate_gain(named["nonlinearity"], named["a"])
    slope = f" with slope {named['a']}" if named["nonlinearity"] == "leaky_relu" else ""
    line = f"gain {gain:.4g}, for {named['nonlinearity']}{slope}"
    return gain, fan_in if named["mode"] == "fan_in" else fan_out, [line]


def _describe_uniform(bound: float, words: str) -> list[str]:
    return [f"each element is uniform between -{bound:.4g} and {bound:.4g}, = {words}"]


def _describe_normal(std: float, words: str) -> list[str]:
    return [
        f"each element is normal, around 0, with standard deviation {std:.4g} = {words}"
    ]


SPREADS: dict[str, Callable[[Tensor, dict[str, Any]], list[str]]] = {
    "xavier_uniform_": _describe_xavier_uniform,
    "xavier_normal_": _describe_xavier_normal,
    "kaiming_uniform_": _describe_kaiming_uniform,
    "kaiming_normal_": _describe_kaiming_normal,
}


# -- packing ---------------------------------------------------------------------------

MOST_STEPS = 16
"""Steps of a sample that are shown."""


def _describe_packing(
    packed: Any, named: dict[str, Any], inputs: tuple[Any, ...], text: str
) -> Drawn:
    """Return a grid of samples and steps, with the row of `data` of each."""
    lengths = torch.as_tensor(named["lengths"]).tolist()
    order = packed.sorted_indices
    place = order.tolist() if order is not None else list(range(len(lengths)))
    rows: dict[tuple[int, int], int] = {}
    row = 0
    for step, count in enumerate(packed.batch_sizes.tolist()):
        for at in range(count):
            rows[place[at], step] = row
            row += 1
    steps = min(int(max(lengths)), MOST_STEPS)
    wide = max(len(str(row)), 1)
    lines = ["each number is the row of `data` that a step of a sample becomes:", ""]
    for sample in range(len(lengths)):
        cells = [
            str(rows.get((sample, step), ".")).rjust(wide) for step in range(steps)
        ]
        lines.append(
            f"  sample {sample}  {'  '.join(cells)}   length {lengths[sample]}"
        )
    batch = packed.batch_sizes.tolist()
    lines += [
        "",
        f"batch_sizes {batch}: how many samples still have a step, step by step",
        "a dot is padding, which no layer reads",
    ]
    if order is not None:
        lines.append(f"sorted_indices {place}: the longest sample first")
    drawn = Drawn(text, PACK, inputs, (draw_side("data", packed.data),))
    return replace(drawn, notes=tuple(lines))
