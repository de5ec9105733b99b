"""Explain a state dict that does not fit: the change behind it, and the
code to write.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.renamed_keys import write_renamed_key
from shapewright.findings.codes import STATE_DICT_MISMATCH, UNMATCHED_STATE_DICT
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.failed_calls import Misloaded, prefix_of
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name


def explain_load(span: Span, one: Misloaded) -> Finding:
    """Return the finding for a refused `load_state_dict`."""
    return Finding(
        STATE_DICT_MISMATCH,
        "error",
        _describe_change(one),
        span,
        torch_message=one.torch_message,
        lines=tuple(_iter_details(one)),
    )


def explain_loose_load(span: Span, one: Misloaded) -> Finding:
    """Return the finding for a `load_state_dict` that `strict=False` let pass."""
    count = f"none of the {one.given}" if not one.matched else f"{one.matched} of the"
    count += "" if not one.matched else f" {one.given}"
    message = f"`strict=False` loads {count} keys into `{one.class_name}`"
    if one.holds or one.path or any(prefix_of(one)):
        message += f": {_describe_change(one)}"
    else:
        first = {f"{key.partition('.')[0]}." for key in one.missing}
        message += ", which has other keys"
        message += f": all begin with `{first.pop()}`" if len(first) == 1 else ""
    pairs = (("the model's", one.missing), ("the state dict's", one.unexpected))
    lines = [f"{word}: {', '.join(keys[:3])}" for word, keys in pairs if keys]
    return Finding(UNMATCHED_STATE_DICT, "warning", message, span, lines=tuple(lines))


def _describe_change(one: Misloaded) -> str:
    """Describe the change that explains all mismatches."""
    if one.holds:
        return (
            f"`{one.class_name}` is given the state of an {one.holds} (`state`,"
            " `param_groups`), which holds none of its weights"
        )
    if one.path == ".state_dict()":
        return (
            f"`{one.class_name}` is given a whole module where its state dict belongs"
        )
    if one.path:
        return (
            f"the weights of `{one.class_name}` are inside what is loaded,"
            f" at `{one.path}`"
        )
    theirs, ours = prefix_of(one)
    if theirs:
        return (
            f"every key of the state dict begins with `{theirs}`, those of"
            f" `{one.class_name}` do not"
        )
    if ours:
        return (
            f"every key of `{one.class_name}` begins with `{ours}`, those of the state"
            " dict do not"
        )
    if one.resized:
        modules = list(dict.fromkeys(_get_owner(key) for key, _, _ in one.resized))
        named = ", ".join(f"`{name}`" for name in modules[:3])
        more = f" and {len(modules) - 3} more" if len(modules) > 3 else ""
        return f"{named}{more} of `{one.class_name}` has another size in the state dict"
    if one.missing and one.unexpected:
        return (
            f"the state dict has other keys than `{one.class_name}`:"
            f" {len(one.missing)} are missing, {len(one.unexpected)} unexpected"
        )
    if one.missing:
        return f"the state dict lacks {len(one.missing)} of {one.keys} keys"
    return (
        f"the state dict has {len(one.unexpected)} keys that"
        f" `{one.class_name}` does not have"
    )


def _iter_details(one: Misloaded) -> Iterator[str]:
    """Yield lines with a few of the mismatched shapes and keys."""
    for key, ours, theirs in one.resized[:6]:
        yield f"`{key}`: {ours} in the model, {theirs} in the state dict"
    for word, keys in (("missing", one.missing), ("unexpected", one.unexpected)):
        if keys:
            more = f" and {len(keys) - 4} more" if len(keys) > 4 else ""
            yield f"{word}: {', '.join(keys[:4])}{more}"


def _get_owner(key: str) -> str:
    """Return the path of the module that a key belongs to."""
    return key.rpartition(".")[0] or key


def suggest_fixes(program: Program, span: Span, one: Misloaded) -> list[Fix]:
    """Suggest renaming keys, or leaving out the keys that do not fit."""
    found = program.call_at(span)
    if found is None or not found[1].args:
        return []
    text, call = found
    if one.holds:
        return []
    matching = _suggest_matching_keys(text, call.args[0], one)
    if matching is not None:
        return [matching]
    given = call.args[0]
    if one.resized:
        sizes = list(_suggest_constructor(program, one))
        loose = [_load_without_resized(text, call, one)]
        return [*sizes, *loose] if ".step(" not in text.text else [*loose, *sizes]
    loaded = one.keys - len(one.missing)
    inner = _rename_keys(text, given, f"%s{one.path}") if one.path else None
    return [_load_loosely(text, call, inner)] if 2 * loaded > one.keys else []


def suggest_renamed_keys(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the keys that the model has, for a dict of which nothing was loaded."""
    for span, one in program.loads:
        given = node.args[:1] if isinstance(node, ast.Call) else []
        if span == finding.span and one.matched is not None and given:
            fix = _suggest_matching_keys(text, given[0], one)
            if fix is not None:
                yield fix


def _suggest_matching_keys(
    text: SourceText, given: ast.expr, one: Misloaded
) -> Fix | None:
    """Return the fix that gives all keys the names that the model has for them, if a
    part of them makes the difference.
    """
    theirs, ours = prefix_of(one)
    renamed = _find_renaming(one)
    key = f'f"{ours}{{k}}"' if ours else ""
    key = f'k.removeprefix("{theirs}")' if theirs else key
    if renamed and not key:
        key = f'k.replace("{renamed[0]}", "{renamed[1]}")'
    if not key and one.matched is not None:
        key = write_renamed_key(one.unexpected, one.missing)
    if key:
        form = f"{{{key}: v for k, v in %s{one.path}.items()}}"
        return _rename_keys(text, given, form)
    if one.path and (one.matched is not None or not _has_differences(one)):
        return _rename_keys(text, given, f"%s{one.path}")
    return None


def _has_differences(one: Misloaded) -> bool:
    return bool(one.resized or one.missing or one.unexpected)


def _find_renaming(one: Misloaded) -> tuple[str, str] | None:
    """Return the part of the keys to replace, and by what, if one change fits them all.

    Example: ``("features.", "backbone.")``.
    """
    for theirs in one.unexpected[:1]:
        for ours in one.missing:
            parts, others = theirs.split("."), ours.split(".")
            while parts and others and parts[-1] == others[-1]:
                parts, others = parts[:-1], others[:-1]
            while parts and others and parts[0] == others[0]:
                parts, others = parts[1:], others[1:]
            if parts and others:
                old, new = ".".join(parts) + ".", ".".join(others) + "."
                if {key.replace(old, new) for key in one.unexpected} == set(
                    one.missing
                ):
                    return old, new
    return None


def _suggest_constructor(program: Program, one: Misloaded) -> Iterator[Fix]:
    """Suggest the argument with which a model is built as it was when it was saved."""
    pairs = {
        (ours[d], theirs[d])
        for _, ours, theirs in one.resized
        if len(ours) == len(theirs)
        for d in range(len(ours))
        if ours[d] != theirs[d]
    }
    for file in program.trace.sources:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            same = get_called_name(node) == one.class_name
            if text is not None and same and isinstance(node, ast.Call):
                yield from _change_arguments(text, node, one.class_name, pairs)


def _change_arguments(
    text: SourceText, call: ast.Call, kind: str, pairs: set[tuple[int, int]]
) -> Iterator[Fix]:
    """Suggest other numbers for the arguments of a constructor, given or default."""
    given = {word.arg: word.value for word in call.keywords}
    defined = [
        node.args
        for name, node in text.functions("__init__")
        if name.split(".")[-2:-1] == [kind]
    ]
    for ours, theirs in sorted(pairs):
        for value in (*call.args, *given.values()):
            if evaluate_whole_number(value) == ours:
                edit = Edit(text.span(value), str(theirs))
                yield Fix("fits", f"`{theirs}` for `{ours}`", (edit,))
        for arguments in defined:
            last = arguments.args[len(arguments.args) - len(arguments.defaults) :]
            for name, value in zip(last, arguments.defaults, strict=True):
                if evaluate_whole_number(value) == ours and name.arg not in given:
                    yield with_keyword(text, call, f"{name.arg}={theirs}")


def _load_without_resized(text: SourceText, call: ast.Call, one: Misloaded) -> Fix:
    """Return the fix that loads all but what has another size."""
    modules = tuple(dict.fromkeys(f"{_get_owner(key)}." for key, _, _ in one.resized))
    names = repr(modules[0]) if len(modules) == 1 else repr(modules)
    names = names.replace("'", '"')
    kept = f"{{k: v for k, v in %s{one.path}.items() if not k.startswith({names})}}"
    return _load_loosely(text, call, _rename_keys(text, call.args[0], kept))


def _rename_keys(text: SourceText, given: ast.expr, form: str) -> Fix:
    """Return the fix that renames the keys of the dict."""
    new = form % text.written(given)
    return Fix("fits", f"`{new}`", (Edit(text.span(given), new),))


def _load_loosely(text: SourceText, call: ast.Call, fix: Fix | None) -> Fix:
    """Return the fix that loads with `strict=False`."""
    edits = fix.edits if fix is not None else ()
    span = text.span(call)
    end = Span(
        span.file,
        span.end_line,
        span.end_column - 1,
        span.end_line,
        span.end_column - 1,
    )
    said = "`strict=False`" + (f" with {fix.message}" if fix is not None else "")
    if any(word.arg == "strict" for word in call.keywords):
        return Fix("fits", said, edits)
    return Fix("fits", said, (*edits, Edit(end, ", strict=False")))
