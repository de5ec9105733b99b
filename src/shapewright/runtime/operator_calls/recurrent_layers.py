"""Recurrent layers, explained: a scheme over time, one step, and what comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import nn

from shapewright.index_maps.drawn_calls import Drawn

RECURRENT: dict[type[nn.Module], str] = {nn.RNN: "RNN", nn.GRU: "GRU", nn.LSTM: "LSTM"}

MOST_STEPS = 4
"""Steps that are in the scheme."""

GATES = {
    "RNN": ("h[t] = tanh(W_ih x[t] + b_ih + W_hh h[t-1] + b_hh)",),
    "GRU": (
        "r = sigmoid(W_ir x[t] + W_hr h[t-1])   how much of the old state is read",
        "z = sigmoid(W_iz x[t] + W_hz h[t-1])   how much of it is kept",
        "n = tanh(W_in x[t] + r * (W_hn h[t-1]))",
        "h[t] = (1 - z) * n + z * h[t-1]",
    ),
    "LSTM": (
        "i, f, o = sigmoid(W x[t] + U h[t-1]), each with its own W and U",
        "g = tanh(W_g x[t] + U_g h[t-1])",
        "c[t] = f * c[t-1] + i * g",
        "h[t] = o * tanh(c[t])",
    ),
}
"""One step of each layer; biases are left out of the longer ones."""


def describe_recurrent(layer: Any, drawn: Drawn) -> Drawn:
    """Return the page of a recurrent layer: a scheme over time, and its results."""
    kind = RECURRENT[type(layer)]
    shape = drawn.inputs[0].shape
    batched = len(shape) == 3
    time = 1 if layer.batch_first and batched else 0
    steps = shape[time]
    features, hidden = shape[-1], layer.proj_size or layer.hidden_size
    ways = 2 if layer.bidirectional else 1
    batch = (shape[1 - time],) if batched else ()
    lines = _draw_scheme(
        layer, kind, steps, (*batch, features), (*batch, ways * hidden)
    )
    lines += ["", "one step:", *_describe_step(layer, kind)]
    last = f"output[{':, ' if time else ''}-1]"
    lines += [
        "",
        f"output {drawn.outputs[0].shape_text}: h of the last layer at every step; "
        f"`{last}` is the last step",
    ]
    names = "h_n" if kind != "LSTM" else "h_n and c_n"
    lines.append(
        f"{names} {drawn.outputs[1].shape_text}: the state after the last step, "
        f"{layer.num_layers} x {ways} = layers x directions first, also with "
        f"batch_first"
    )
    if layer.bidirectional:
        half = layer.proj_size or layer.hidden_size
        lines.append(
            f"both directions are in the last dim: the first {half} features run "
            f"forwards, the others backwards, which end at step 0, not at `{last}`"
        )
    named = {"out": "output", "out.0": "output", "out.1": "h_n", "out.2": "c_n"}
    outputs = tuple(
        replace(side, name=named.get(side.name, side.name)) for side in drawn.outputs
    )
    return replace(drawn, outputs=outputs, reason="", notes=(*drawn.notes, *lines))


def _describe_step(layer: Any, kind: str) -> list[str]:
    """Return the formulas of one step."""
    rectified = getattr(layer, "nonlinearity", "tanh") == "relu"
    return [
        f"  {line.replace('tanh', 'relu') if rectified else line}"
        for line in GATES[kind]
    ]


def _draw_scheme(
    layer: Any, kind: str, steps: int, input: tuple[int, ...], output: tuple[int, ...]
) -> list[str]:
    """Return steps side by side, with what goes in, what is handed on, what "
    "comes out."""
    shown = list(range(min(steps, MOST_STEPS)))
    if steps > MOST_STEPS:
        shown[-1] = steps - 1
    text_in, text_out = _format_shape(input), _format_shape(output)
    wide = max(len(text_in), len(text_out), len(f"[{kind}]"), 8)
    gap = 5
    cut = steps > MOST_STEPS

    def row(label: str, cells: list[str], between: str) -> str:
        joined = ""
        for at, cell in enumerate(cells):
            if at:
                inner = (
                    between.center(gap)
                    if not (cut and at == len(cells) - 1)
                    else (" … ".center(gap))
                )
                joined += inner
            joined += cell.center(wide)
        return f"{label:11}{joined}".rstrip()

    state = "h, c" if kind == "LSTM" else "h"
    arrow = "->"
    lines = [
        row("step", [str(step) for step in shown], ""),
        row("x[t]", [text_in] * len(shown), ""),
    ]
    for number in range(layer.num_layers):
        lines.append(row("", ["|"] * len(shown), ""))
        cells = [f"[{kind}]"] * len(shown)
        lines.append(row(f"layer {number}", cells, arrow) + f" {arrow} {state}")
    lines += [
        row("", ["|"] * len(shown), ""),
        row("output[t]", [text_out] * len(shown), ""),
    ]
    if layer.bidirectional:
        lines.append("a second row of cells in each layer runs from the last step back")
    return lines


def _format_shape(shape: tuple[int, ...]) -> str:
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
