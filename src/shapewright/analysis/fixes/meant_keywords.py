"""Arguments by position that are meant for another parameter: `nn.Conv2d(c, c, 3, 1, 1,
c)` for `groups=c`, `nn.TransformerEncoderLayer(d, heads, dropout)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.analysis.fixes.suspect_lines import (
    Line,
    find_suspects,
    iter_nodes_on,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import get_last_name, is_starred

_CONVOLUTION = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation",
    "groups", "bias",
)  # fmt: skip
_RECURRENT = (
    "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
    "bidirectional",
)  # fmt: skip
_TRANSFORMER_LAYER = (
    "d_model", "nhead", "dim_feedforward", "dropout", "activation", "layer_norm_eps",
    "batch_first", "norm_first",
)  # fmt: skip
PARAMETERS: dict[str, tuple[str, ...]] = {
    "Conv1d": _CONVOLUTION,
    "Conv2d": _CONVOLUTION,
    "Conv3d": _CONVOLUTION,
    "GRU": _RECURRENT,
    "LSTM": _RECURRENT,
    "MultiheadAttention": (
        "embed_dim", "num_heads", "dropout", "bias", "add_bias_kv", "add_zero_attn",
        "kdim", "vdim", "batch_first",
    ),
    "Transformer": (
        "d_model", "nhead", "num_encoder_layers", "num_decoder_layers",
        "dim_feedforward", "dropout", "activation", "custom_encoder", "custom_decoder",
        "layer_norm_eps", "batch_first",
    ),
    "TransformerDecoderLayer": _TRANSFORMER_LAYER,
    "TransformerEncoderLayer": _TRANSFORMER_LAYER,
}  # fmt: skip
"""Parameters of torch's layers by position, as their documentation lists them."""
COUNTS = frozenset({
    "dilation", "dim_feedforward", "num_decoder_layers", "num_encoder_layers",
    "num_layers",
})  # fmt: skip
"""Parameters that take a number of things."""


def suggest_meant_keywords(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the keywords that arguments of the layers on the way are meant for."""
    yield from suggest_keywords_on(program, find_suspects(program, failure))


def suggest_keywords_on(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest the keywords that arguments of the calls on some lines are meant for."""
    for text, call in iter_nodes_on(program, lines, ast.Call):
        parameters = _list_parameters(text, call)
        if not is_starred(call) and parameters:
            yield from _iter_meant(text, call, parameters)


def _list_parameters(text: SourceText, call: ast.Call) -> Sequence[str]:
    """Return the parameters of what is called, by position; empty if unknown."""
    name = get_last_name(call.func)
    for _, definition in text.definitions(name) if name else ():
        function: ast.AST | None = definition
        if isinstance(definition, ast.ClassDef):
            methods = (n for n in definition.body if isinstance(n, ast.FunctionDef))
            function = next((m for m in methods if m.name == "__init__"), None)
        if not isinstance(function, ast.FunctionDef) or function.args.vararg:
            return ()
        own = [argument.arg for argument in function.args.args]
        is_bound = isinstance(definition, ast.ClassDef) or own[:1] == ["self"]
        return own[1:] if is_bound else own
    return PARAMETERS.get(name, ())


def _iter_meant(
    text: SourceText, call: ast.Call, parameters: Sequence[str]
) -> Iterator[Fix]:
    """Yield the fixes for one call: a keyword for an argument and those after it."""
    words = {word.arg for word in call.keywords}
    for at, (argument, own) in enumerate(zip(call.args, parameters, strict=False)):
        later = parameters[at + 1 :]
        meant = _find_meant(text, call, argument, own, later)
        behind = range(at + 1, len(call.args))
        # What comes after it would lose its place: each needs a keyword of its own.
        if not meant or meant in words or any(n >= len(parameters) for n in behind):
            continue
        if meant in (parameters[n] for n in behind):
            continue
        edits = [Edit(text.span(argument).start, f"{meant}=")]
        edits += [
            Edit(text.span(call.args[n]).start, f"{parameters[n]}=") for n in behind
        ]
        yield Fix(
            "fits", f"`{meant}={join_lines(text.written(argument))}`", tuple(edits)
        )
        return


def _find_meant(
    text: SourceText,
    call: ast.Call,
    argument: ast.expr,
    own: str,
    later: Sequence[str],
) -> str:
    """Return the parameter that an argument is meant for, or an empty text."""
    name = get_last_name(argument)
    if name and name != own and name in later:
        return name
    if own not in COUNTS:
        is_flag = isinstance(argument, ast.Constant) and argument.value is True
        if own in ("bias", "activation", "dropout") and is_flag:
            return "batch_first" if "batch_first" in later else ""
        return ""
    if isinstance(argument, ast.Constant) and argument.value is True:
        return "batch_first" if "batch_first" in later else ""
    is_same = text.written(argument) == text.written(call.args[0])
    if own == "dilation" and is_same and "groups" in later:
        return "groups" if evaluate_whole_number(argument) != 1 else ""
    values = [argument, *(find_defining(text, name) if name else ())]
    if "dropout" in later and any(_is_share(value) for value in values):
        return "dropout"
    return ""


def _is_share(node: ast.expr) -> bool:
    """Return whether a number between zero and one is written."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, float) and 0 <= value < 1
