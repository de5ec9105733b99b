"""Find arguments whose names say something else than the parameter that gets them: the
weight decay at the place of `dampening`, the share that is kept as that to drop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.exchanged_arguments import (
    find_exchanged_arguments,
)
from shapewright.analysis.training_mistakes.exchanged_labels import (
    find_exchanged_labels,
)
from shapewright.analysis.training_mistakes.exchanged_names import find_exchanged_names
from shapewright.analysis.training_mistakes.other_samplers import find_other_samplers
from shapewright.analysis.training_mistakes.plateau_metrics import (
    find_epochs_as_metrics,
)
from shapewright.findings.codes import MISPLACED_ARGUMENT, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
    is_starred,
)

_OF_ADAM = ("params", "lr", "betas", "eps", "weight_decay")
SIGNATURES = {
    "SGD": ("params", "lr", "momentum", "dampening", "weight_decay", "nesterov"),
    "Adam": (*_OF_ADAM, "amsgrad"),
    "AdamW": (*_OF_ADAM, "amsgrad"),
    "NAdam": (*_OF_ADAM, "momentum_decay"),
    "RAdam": _OF_ADAM,
    "Adamax": _OF_ADAM,
    "RMSprop": ("params", "lr", "alpha", "eps", "weight_decay", "momentum", "centered"),
    "Adagrad": ("params", "lr", "lr_decay", "weight_decay"),
    "Adadelta": ("params", "lr", "rho", "eps", "weight_decay"),
}
"""The parameters of torch's optimizers that may be given by position."""
MOST_DECAY = 0.01
"""The largest number at the place of `dampening` that is taken for a weight decay."""

OTHER_LIBRARIES = frozenset({"tf", "tensorflow", "keras", "layers", "jax", "hk", "flax",
    "paddle", "mx"})  # fmt: skip
DROPPING = re.compile(r"(feature_?alpha_?|alpha_?)?dropout([123]d)?|drop_?path|"
                      r"stochastic_?depth")  # fmt: skip
SHARES = frozenset({"p", "drop_prob", "dropout"})
KEPT = re.compile(r"(^|_)(keep|kept|retain|survival)(_|$)|keep(prob|rate|ratio)")
DROPPED = re.compile(r"drop")
HALF = 0.5


@looks_for(MISPLACED_ARGUMENT)
def find_misplaced_arguments(scene: RehearsalContext) -> Iterator[Finding]:
    """Find arguments of optimizers, of dropout and of the program's own losses, and
    results under a name, at the place of another one.
    """
    yield from find_epochs_as_metrics(scene)
    texts = list(scene.program.own_texts())
    own = {name for text in texts for name, _ in text.definitions()}
    yield from find_exchanged_arguments(texts)
    for text in texts:
        yield from find_exchanged_labels(text)
        yield from find_exchanged_names(text)
        yield from find_other_samplers(text)
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) in own:
                continue
            yield from _find_decay(text, call)
            yield from _find_kept_share(scene, text, call)


def _find_decay(text: SourceText, call: ast.Call) -> Iterator[Finding]:
    """Yield the finding for an argument of an optimizer at the place of another."""
    name = get_called_name(call)
    misplaced = list_misplaced(text, call)
    if not misplaced:
        return
    node, meant, parameter = misplaced[0]
    number = call.args.index(node) + 1
    left = f", and `{meant}` is left as it is by default"
    if any(word.arg == meant for word in call.keywords):
        left = ""
    yield build_finding(
        MISPLACED_ARGUMENT,
        f"argument {number} of `{name}` is `{parameter}`, not `{meant}`:"
        f" `{text.line_of(node)}` is taken for it{left}",
        text.span(node),
    )


def list_misplaced(text: SourceText, call: ast.Call) -> list[tuple[ast.expr, str, str]]:
    """Return the positional arguments of an optimizer from the first one on that stands
    at the place of another: each with the parameter that its name says, or an empty
    string, and the one that it is taken for.
    """
    name = get_called_name(call)
    parameters = SIGNATURES.get(name, ())
    if not parameters or is_starred(call) or not _is_of_torch(text, call.func):
        return []
    pairs = list(zip(call.args, parameters, strict=False))
    rows = [(n, _get_meaning(n, name, p, parameters), p) for n, p in pairs]
    for at, (_, meant, parameter) in enumerate(rows):
        if meant not in ("", parameter) and parameter not in ("params", "lr", "betas"):
            return rows[at:]
    return []


def _is_of_torch(text: SourceText, func: ast.expr) -> bool:
    """Return whether the class of a call is one of `torch.optim`."""
    owner = get_dotted_name(func).rpartition(".")[0]
    if owner:
        return owner in ("torch.optim", "optim")
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("torch.optim")
        and get_last_name(func) in {alias.name for alias in node.names}
        for node in text.nodes
    )


def _get_meaning(
    node: ast.expr, kind: str, parameter: str, parameters: tuple[str, ...]
) -> str:
    """Return the parameter of an optimizer that an argument is by its name, or an empty
    string; a small number at the place of `dampening` is a weight decay.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        is_decay = parameter == "dampening" and 0 < node.value <= MOST_DECAY
        return "weight_decay" if is_decay else ""
    name = _get_written_name(node)
    words = set(name.split("_"))
    if name in parameters or not name:
        return name
    if {"lr", "rate", "decay"} <= words | {"rate"} and "weight" not in words:
        return ""  # `lr_decay`
    if name == "decay" and kind not in ("SGD", "Adam", "AdamW"):
        return ""  # the decay of an average, or of the rate
    meanings = {
        "weight_decay": {"weight", "decay"} <= words
        or words & {"wd", "weightdecay", "l2"}
        or name == "decay",
        "momentum": "momentum" in words and "decay" not in words,
        "eps": words & {"eps", "epsilon"},
        "dampening": words & {"dampening", "damp"},
    }
    meant = [key for key, is_meant in meanings.items() if is_meant]
    return meant[0] if len(meant) == 1 and meant[0] in parameters else ""


def _get_written_name(node: ast.expr) -> str:
    """Return the name that says what an argument is, in small letters: `weight_decay`
    of `args.weight_decay` and of `config["weight_decay"]`, or an empty string.
    """
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value).lower()
    return get_last_name(node).lower()


def _find_kept_share(
    scene: RehearsalContext, text: SourceText, call: ast.Call
) -> Iterator[Finding]:
    """Yield the finding for a share of kept elements that is given to a dropout, and
    for one minus the share to drop.
    """
    node = _get_share(text, call)
    if node is None:
        return
    func = text.written(call.func)
    other = get_complement(node)
    name = _get_written_name(node if other is None else other)
    is_other = DROPPED.search(name) is not None
    values = _collect_values(scene, text, call, name)
    is_kept = other is None and KEPT.search(name) is not None and not is_other
    is_turned = other is not None and is_other and KEPT.search(name) is None
    if is_kept and all(value > HALF for value in values):
        yield build_finding(
            MISPLACED_ARGUMENT,
            f"`{func}` takes the share that is dropped: `{text.line_of(node)}` says by"
            " its name that it is the share that is kept",
            text.span(node),
        )
    elif is_turned and all(value < HALF for value in values):
        yield build_finding(
            MISPLACED_ARGUMENT,
            f"`{func}` takes the share that is dropped: `{text.line_of(node)}` is the"
            " share that is kept",
            text.span(node),
        )


def _get_share(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the argument of a call that is the share to drop, or None."""
    name = get_called_name(call)
    dotted = get_dotted_name(call.func)
    root = dotted.partition(".")[0]
    if is_starred(call) or root in OTHER_LIBRARIES | {"self"} or not name:
        return None
    is_layer = name[0].isupper()
    words = [word.value for word in call.keywords if word.arg in SHARES]
    if DROPPING.fullmatch(name.lower()) is None:
        is_of_torch = is_layer and dotted.startswith(("nn.", "torch.nn."))
        kept = [word.value for word in call.keywords if word.arg == "dropout"]
        return kept[0] if is_of_torch and kept else None
    if dotted == name and _is_of_other_library(text, name):
        return None
    place = 0 if is_layer else 1
    return words[0] if words else next(iter(call.args[place:]), None)


def _is_of_other_library(text: SourceText, name: str) -> bool:
    """Return whether a name is imported from a library whose dropout is another."""
    return any(
        isinstance(node, ast.ImportFrom)
        and name in {alias.name for alias in node.names}
        and (node.module or "").partition(".")[0] in OTHER_LIBRARIES
        for node in text.nodes
    )


def get_complement(node: ast.expr) -> ast.expr | None:
    """Return `p` of `1 - p`, or None for any other expression."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    is_whole = isinstance(node.left, ast.Constant) and node.left.value == 1
    return node.right if is_whole else None


def _collect_values(
    scene: RehearsalContext, text: SourceText, call: ast.Call, name: str
) -> list[float]:
    """Return the numbers that a name is given in its file, and, of a share that is
    kept, the one that the layer was built with.
    """
    spellings = {name, name.upper()}
    values = [
        float(value.value)
        for spelling in spellings
        for value in find_defining(text, spelling)
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    ]
    values += [
        float(word.value.value)
        for node in text.nodes
        if get_called_name(node) == "add_argument" and isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "default"
        and name in {_read_option(argument) for argument in node.args}
        and isinstance(word.value, ast.Constant)
        and isinstance(word.value.value, int | float)
    ]
    span = text.span(call)
    for built in scene.program.built.values():
        share = dict(built.values).get("p") if built.span == span else None
        if isinstance(share, float):
            values.append(share if KEPT.search(name) else 1 - share)
    return values


def _read_option(node: ast.expr) -> str:
    """Return `keep_prob` of `"--keep-prob"`, or an empty string for other nodes."""
    value = node.value if isinstance(node, ast.Constant) else ""
    return str(value).lstrip("-").replace("-", "_").lower()
