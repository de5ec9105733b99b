"""Hooks of modules with other parameters than they are called with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
)

REFUSED = re.compile(
    r"(?:^|[\s.>`])(\w+|<lambda>)\(\) (?:takes \d+ positional arguments? but \d+ w"
    r"|missing \d+ required positional argument)"
)
PARAMETERS = {
    "register_forward_hook": ("module", "inputs", "output"),
    "register_forward_pre_hook": ("module", "inputs"),
    "register_full_backward_hook": ("module", "grad_input", "grad_output"),
    "register_backward_hook": ("module", "grad_input", "grad_output"),
    "register_full_backward_pre_hook": ("module", "grad_output"),
}
"""What each kind of hook is called with."""
Hook = ast.FunctionDef | ast.Lambda


def find_hook_parameters(program: Program, finding: Finding) -> Explanation | None:
    """Return what a hook of a module is called with, or None for other functions."""
    refused = REFUSED.search(finding.words)
    if refused is None:
        return None
    for text in program.own_texts():
        for hook in text.nodes:
            if not isinstance(hook, ast.FunctionDef | ast.Lambda):
                continue
            name = hook.name if isinstance(hook, ast.FunctionDef) else "<lambda>"
            if name != refused[1]:
                continue
            call = next(_iter_registrations(text, hook), None)
            if call is not None and not _is_fitting(text, hook, call):
                return _explain(text, hook, call)
    return None


def _iter_registrations(text: SourceText, hook: Hook) -> Iterator[ast.Call]:
    """Yield the calls that register a hook: by name, or what a function returns."""
    holder = text.around(hook, ast.FunctionDef)
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) not in PARAMETERS:
            continue
        value = node.args[0] if node.args else None
        words = {word.arg for word in node.keywords}
        if value is None or words & {"with_kwargs", None}:
            continue
        is_it = value is hook
        if isinstance(hook, ast.FunctionDef):
            is_it = isinstance(value, ast.Name | ast.Attribute)
            is_it = is_it and get_last_name(value) == hook.name
        if isinstance(value, ast.Call) and holder is not None:
            is_it = get_called_name(value) == holder.name
            is_it = is_it and not get_called_name(value).startswith("register")
        if is_it:
            yield node


def _list_parameters(text: SourceText, hook: Hook) -> list[str]:
    """Return the parameters of a hook, without `self`."""
    names = [part.arg for part in (*hook.args.posonlyargs, *hook.args.args)]
    is_method = isinstance(text.parent(hook), ast.ClassDef)
    return names[1:] if is_method and names[:1] == ["self"] else names


def _is_fitting(text: SourceText, hook: Hook, call: ast.Call) -> bool:
    """Return whether a hook takes as many arguments as it is called with."""
    needed = len(PARAMETERS[get_called_name(call)])
    names, arguments = _list_parameters(text, hook), hook.args
    least = len(names) - len(arguments.defaults)
    return least <= needed and (arguments.vararg is not None or needed <= len(names))


def _explain(text: SourceText, hook: Hook, call: ast.Call) -> Explanation:
    """Return what a hook is called with, and the parameters that it needs."""
    kind = get_called_name(call)
    needed, names = PARAMETERS[kind], _list_parameters(text, hook)
    what = "the hook" if isinstance(hook, ast.Lambda) else f"`{hook.name}`"
    message = (
        f"a hook of `{kind}` is called with `({', '.join(needed)})`, and {what} takes"
        f" `({', '.join(names)})`"
    )
    related = (Related(text.span(call), "the hook is registered here"),)
    new = _write_parameters(hook, names, needed)
    parts = [*hook.args.posonlyargs, *hook.args.args][-len(names) :] if names else []
    if new is None or not parts or hook.args.defaults or hook.args.vararg is not None:
        return Explanation(message, related)
    begin = parts[0]
    last = parts[-1]
    span = Span(
        text.file,
        begin.lineno,
        text.column(begin.lineno, begin.col_offset),
        last.end_lineno or last.lineno,
        text.column(last.end_lineno or last.lineno, last.end_col_offset or 0),
    )
    written = ", ".join(new)
    fix = Fix("fits", f"`({written})`", (Edit(span, written),))
    return Explanation(message, related, (fix,))


def _write_parameters(
    hook: Hook, names: list[str], needed: tuple[str, ...]
) -> list[str] | None:
    """Return the parameters that a hook needs, with its own names where it is clear
    what they stand for.
    """
    if len(names) > len(needed):
        extra = names[len(needed) :]
        body = hook.body if isinstance(hook.body, list) else [hook.body]
        used = {name for part in body for name in collect_names(part)}
        return None if used & {*extra} else names[: len(needed)]
    free = [part for part in needed if part not in names]
    places: dict[int, str] = {}
    for at, name in enumerate(names):
        place = _find_place(name, at, len(names), needed)
        if place in places:
            return None
        places[place] = name
    if not free or [*places] != sorted(places):
        return None
    return [places.get(at, part) for at, part in enumerate(needed)]


def _find_place(name: str, at: int, count: int, needed: tuple[str, ...]) -> int:
    """Return which of the arguments of a hook a parameter stands for."""
    last = len(needed) - 1
    if re.match(r"m$|mod|self_|layer|net|model", name):
        return 0
    if re.search(r"out|^o$|^y$|result|grad", name) and not re.search(r"in", name):
        return last
    if re.match(r"in|inp|x$|args", name):
        return min(1, last)
    return 0 if at == 0 and count > 1 else last
