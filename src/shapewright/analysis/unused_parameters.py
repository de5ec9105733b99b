"""`DistributedDataParallel` waits for gradients of parameters that no loss used: which
they are, where their layer is built and read, and where the model is wrapped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import UNUSED_PARAMETERS
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.spans import is_installed

WRAPPER = "DistributedDataParallel"
KEYWORD = "find_unused_parameters"
UNUSED = re.compile(r"Parameters which did not receive grad for rank \d+: (.*)")
"""How torch names them."""
MOST = 4


def explain_unused_parameters(program: Program, finding: Finding) -> Finding:
    """Return the finding with its cause, if a wrapper waits for gradients."""
    names = _list_unused(finding)
    if not names:
        return finding
    wrapper = _find_wrapper(program, names)
    layers = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    shown = ", ".join(f"`{name}`" for name in names[:MOST])
    shown += f" and {len(names) - MOST} more" if len(names) > MOST else ""
    called = {call.path for call in program.trace.calls}
    unread = [_find_uncalled(wrapper, layer, called) for layer in layers]
    reason = "the loss before uses nothing of them"
    if all(unread):
        reason = "`forward` did not use them"
    whom = "a parameter" if len(names) == 1 else f"{len(names)} parameters"
    message = (
        f"`{WRAPPER}` still waits for the gradient of {whom}, as {reason}: {shown}"
    )
    related = [*_iter_builds(program, wrapper, layers)]
    for path in dict.fromkeys(path for path in unread if path):
        related += _iter_reads(program, path)
    construction = program.built.get(wrapper)
    if construction is not None:
        words = f"the model is wrapped here, without `{KEYWORD}=True`"
        related.append(Related(construction.span, words))
    return replace(
        finding, code=UNUSED_PARAMETERS, message=message,
        related=(*related, *finding.related),
    )  # fmt: skip


def suggest_finding_unused(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `find_unused_parameters=True` where the wrapper is constructed."""
    names = _list_unused(finding)
    construction = program.built.get(_find_wrapper(program, names)) if names else None
    text_and_call = program.call_at(construction.span if construction else None)
    if text_and_call is None or is_installed(text_and_call[0].file):
        return
    text, call = text_and_call
    shown = f"`{KEYWORD}=True`"
    for word in call.keywords:
        if word.arg == KEYWORD:
            yield Fix("fits", shown, (Edit(text.span(word.value), "True"),))
            return
    if not call.args:
        return
    last = max(
        (*call.args, *(word.value for word in call.keywords)),
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
    )
    edit = Edit(text.span(last).end, f", {KEYWORD}=True")
    yield Fix("fits", shown, (edit,))


def _list_unused(finding: Finding) -> list[str]:
    """Return the parameters that torch names, without the wrapper in front."""
    match = UNUSED.search(finding.torch_message)
    return match[1].split(", ") if match is not None else []


def _find_wrapper(program: Program, names: list[str]) -> str:
    """Return the path of the wrapper around the model that has these parameters."""
    wrappers = [
        path
        for path, construction in program.built.items()
        if construction.class_name == WRAPPER
    ]
    layers = {name.rpartition(".")[0] for name in names}
    for path in wrappers:
        paths = {f"{path}.module.{layer}".rstrip(".") for layer in layers}
        if paths <= program.built.keys():
            return path
    return wrappers[0] if wrappers else WRAPPER


def _find_uncalled(wrapper: str, layer: str, called: set[str]) -> str:
    """Return the outermost module around a layer that no call reached, empty if the
    layer was called.
    """
    path = f"{wrapper}.module"
    for part in layer.split(".") if layer else ():
        path += f".{part}"
        if path not in called and not any(
            other.startswith(f"{path}.") for other in called
        ):
            return path
    return ""


def _iter_builds(
    program: Program, wrapper: str, layers: list[str]
) -> Iterator[Related]:
    """Yield the places where layers are constructed, each line once."""
    lines = set[tuple[str, int]]()
    for layer in layers:
        construction = program.built.get(f"{wrapper}.module.{layer}".rstrip("."))
        if construction is None or len(lines) >= MOST:
            continue
        span = construction.span
        if (span.file, span.line) not in lines and not is_installed(span.file):
            lines.add((span.file, span.line))
            name = layer or construction.class_name
            yield Related(span, f"`{name}` is built here")


def _iter_reads(program: Program, path: str) -> Iterator[Related]:
    """Yield the first place where the methods of a module read a layer of it."""
    parent, _, name = path.rpartition(".")
    construction = program.built.get(parent)
    if construction is None:
        return
    for file in program.trace.sources:
        text = program.text(file)
        definitions = text.definitions(construction.class_name) if text else ()
        for _, definition in definitions:
            reads = [
                node
                for node in ast.walk(definition)
                if isinstance(node, ast.Attribute)
                and node.attr == name
                and isinstance(node.ctx, ast.Load)
                and text is not None
                and getattr(text.around(node, ast.FunctionDef), "name", "")
                != "__init__"
            ]
            if reads and text is not None:
                words = f"`self.{name}` is read here, and was not called"
                yield Related(text.span(reads[0]), words)
                return
