"""Explain a state dict that does not fit: the change behind it, and the
code to write.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from shapewright.analysis.cut_keys import list_cut_places, suggest_cut_keys
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.refusals.checkpoints import (
    has_random_weights,
    is_trained,
)
from shapewright.analysis.fixes.sibling_names import iter_command_options
from shapewright.analysis.model_builders import suggest_builder_arguments
from shapewright.analysis.program_run import Program
from shapewright.analysis.pruned_states import find_pruned, suggest_lasting_pruning
from shapewright.analysis.renamed_keys import write_renamed_key
from shapewright.analysis.saved_models import (
    describe_saved_builder,
    suggest_saved_builder,
)
from shapewright.analysis.wrapped_states import (
    describe_average,
    suggest_state_inside,
)
from shapewright.findings.codes import STATE_DICT_MISMATCH, UNMATCHED_STATE_DICT
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.failed_calls import Misloaded, prefix_of
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_last_name


def explain_load(span: Span, misloaded: Misloaded) -> Finding:
    """Return the finding for a refused `load_state_dict`."""
    return Finding(
        STATE_DICT_MISMATCH,
        "error",
        _describe_change(misloaded),
        span,
        torch_message=misloaded.torch_message,
        lines=tuple(_iter_details(misloaded)),
    )


def list_load_places(
    program: Program, span: Span, misloaded: Misloaded
) -> tuple[Related, ...]:
    """Return the wrapper that the first word of keys comes from, and the flag that does
    not pass over other sizes.
    """
    places = list_cut_places(program, span, misloaded)
    if "module." in prefix_of(misloaded):
        for text in program.own_texts():
            for node in text.nodes:
                if get_called_name(node) in WRAPPERS and isinstance(node, ast.Call):
                    wrapper = text.written(node.func)
                    words = f"`{wrapper}` puts `module.` in front of the keys"
                    places.append(Related(text.span(node), words))
    place = program.call_at(span)
    for word in place[1].keywords if place is not None else ():
        if word.arg != "strict" or not misloaded.resized or place is None:
            continue
        if isinstance(word.value, ast.Constant) and word.value.value is False:
            words = "`strict=False` passes over keys that are missing or not known,"
            words += " not over other sizes"
            places.append(Related(place[0].span(word.value), words))
    saved = describe_saved_builder(program, span)
    if saved is not None and _is_of_other_architecture(misloaded):
        places.insert(0, saved)
    return tuple(places[:1])


WRAPPERS = ("DataParallel", "DistributedDataParallel")


def explain_loose_load(span: Span, misloaded: Misloaded) -> Finding:
    """Return the finding for a `load_state_dict` that `strict=False` let pass."""
    count = (
        f"none of the {misloaded.given}"
        if not misloaded.matched
        else f"{misloaded.matched} of the"
    )
    count += "" if not misloaded.matched else f" {misloaded.given}"
    message = f"`strict=False` loads {count} keys into `{misloaded.class_name}`"
    if misloaded.holds or misloaded.path or any(prefix_of(misloaded)):
        message += f": {_describe_change(misloaded)}"
    else:
        first = {f"{key.partition('.')[0]}." for key in misloaded.missing}
        message += ", which has other keys"
        message += f": all begin with `{first.pop()}`" if len(first) == 1 else ""
    pairs = (
        ("the model's", misloaded.missing),
        ("the state dict's", misloaded.unexpected),
    )
    lines = [f"{word}: {', '.join(keys[:3])}" for word, keys in pairs if keys]
    return Finding(UNMATCHED_STATE_DICT, "warning", message, span, lines=tuple(lines))


def _describe_repeated(prefix: str, others: Sequence[str]) -> str:
    """Return that a prefix comes once more, where the other keys begin with it too."""
    is_repeated = bool(others) and all(key.startswith(prefix) for key in others)
    return " once more than those of" if is_repeated else ""


def _describe_change(misloaded: Misloaded) -> str:
    """Describe the change that explains all mismatches."""
    pruned = find_pruned(misloaded)
    if pruned:
        return (
            f"the state dict is that of a pruned model: it has `{pruned}_orig` and"
            f" `{pruned}_mask` in the place of `{pruned}`, until `prune.remove` makes"
            " the pruning permanent"
        )
    if misloaded.holds:
        return (
            f"`{misloaded.class_name}` is given the state of an"
            f" {misloaded.holds} (`state`,"
            " `param_groups`), which holds none of its weights"
        )
    if misloaded.path == ".state_dict()":
        return (
            f"`{misloaded.class_name}` is given a whole module where its"
            " state dict belongs"
        )
    if misloaded.path:
        return (
            f"the weights of `{misloaded.class_name}` are inside what is loaded,"
            f" at `{misloaded.path}`"
        )
    average = describe_average(misloaded)
    if average:
        return average
    theirs, ours = prefix_of(misloaded)
    if theirs:
        again = _describe_repeated(theirs, misloaded.missing)
        return (
            f"every key of the state dict begins with `{theirs}`{again or ', those of'}"
            f" `{misloaded.class_name}`{'' if again else ' do not'}"
        )
    if ours:
        again = _describe_repeated(ours, misloaded.unexpected)
        return (
            f"every key of `{misloaded.class_name}` begins with `{ours}`"
            f"{again or ', those of'} the state dict{'' if again else ' do not'}"
        )
    if _is_of_other_model(misloaded):
        first, own, other = misloaded.resized[0]
        return (
            f"the state dict is of another variant of `{misloaded.class_name}`:"
            f" {len(misloaded.resized)} of {misloaded.keys} weights have another size,"
            f" as `{first}` {other} against {own}"
        )
    if misloaded.resized and not _is_of_other_architecture(misloaded):
        modules = list(
            dict.fromkeys(_get_owner(key) for key, _, _ in misloaded.resized)
        )
        named = ", ".join(f"`{name}`" for name in modules[:3])
        more = f" and {len(modules) - 3} more" if len(modules) > 3 else ""
        return (
            f"{named}{more} of `{misloaded.class_name}` has another size in"
            " the state dict"
        )
    if misloaded.missing and misloaded.unexpected:
        return (
            f"the state dict has other keys than `{misloaded.class_name}`:"
            f" {len(misloaded.missing)} are missing,"
            f" {len(misloaded.unexpected)} unexpected"
        )
    if misloaded.missing:
        return f"the state dict lacks {len(misloaded.missing)} of {misloaded.keys} keys"
    return (
        f"the state dict has {len(misloaded.unexpected)} keys that"
        f" `{misloaded.class_name}` does not have"
    )


MANY = 8
"""Layers with weights of another size of which a model is another one."""


def _is_of_other_model(misloaded: Misloaded) -> bool:
    """Return whether most weights have another size, or are not in the state dict."""
    count = len(misloaded.resized) + len(misloaded.missing)
    several = {_get_owner(key) for key, _, _ in misloaded.resized}
    return 2 * count > misloaded.keys and len(several) >= MANY


def _is_of_other_architecture(misloaded: Misloaded) -> bool:
    """Return whether most keys are missing, and as many others come in their place."""
    lacks = 2 * len(misloaded.missing) > misloaded.keys
    return lacks and len(misloaded.unexpected) > MANY


def _iter_details(misloaded: Misloaded) -> Iterator[str]:
    """Yield lines with a few of the mismatched shapes and keys."""
    for key, ours, theirs in misloaded.resized[:6]:
        yield f"`{key}`: {ours} in the model, {theirs} in the state dict"
    for word, keys in (
        ("missing", misloaded.missing),
        ("unexpected", misloaded.unexpected),
    ):
        if keys:
            more = f" and {len(keys) - 4} more" if len(keys) > 4 else ""
            yield f"{word}: {', '.join(keys[:4])}{more}"


def _get_owner(key: str) -> str:
    """Return the path of the module that a key belongs to."""
    return key.rpartition(".")[0] or key


def suggest_fixes(program: Program, span: Span, misloaded: Misloaded) -> list[Fix]:
    """Suggest renaming keys, or leaving out the keys that do not fit."""
    text_and_call = program.call_at(span)
    if text_and_call is None or not text_and_call[1].args:
        return []
    text, call = text_and_call
    if misloaded.holds:
        return []
    pruned = find_pruned(misloaded)
    if pruned:
        return list(suggest_lasting_pruning(text, pruned))
    inside = list(suggest_cut_keys(program, text, call, misloaded))
    if not inside:
        inside += suggest_state_inside(program, text, call.args[0], misloaded)
    if inside:
        return inside
    matching = _suggest_matching_keys(text, call.args[0], misloaded)
    is_renamed = misloaded.pairs or 2 * len(misloaded.missing) >= misloaded.keys
    if matching is not None and is_renamed:
        return [matching]
    saved = list(suggest_saved_builder(program, span))
    if saved and _is_of_other_architecture(misloaded):
        return saved
    argument = call.args[0]
    if misloaded.resized:
        evaluates = has_random_weights(
            text, call, [_get_owner(k) for k, *_ in misloaded.resized]
        )
        others = sorted(_list_other_sizes(misloaded))
        built = list(suggest_builder_arguments(program, others))
        if built:  # as it was built before
            return built
        sizes = list(_suggest_constructor(program, misloaded, evaluates))
        if _is_of_other_model(misloaded):
            return [*_suggest_variants(program), *sizes]
        if evaluates:
            return sizes
        loose = [_load_without_resized(text, call, misloaded)]
        return [*loose, *sizes] if is_trained(text) else [*sizes, *loose]
    missing = [_get_owner(key) for key in misloaded.missing]
    if missing and has_random_weights(text, call, missing):
        return []
    loaded = misloaded.keys - len(misloaded.missing)
    inner = (
        _rename_keys(text, argument, f"%s{misloaded.path}") if misloaded.path else None
    )
    return [_load_loosely(text, call, inner)] if 2 * loaded > misloaded.keys else []


def suggest_renamed_keys(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the keys that the model has, for a dict of which nothing was loaded."""
    for span, misloaded in program.loads:
        argument = node.args[:1] if isinstance(node, ast.Call) else []
        if span == finding.span and misloaded.matched is not None and argument:
            fix = _suggest_matching_keys(text, argument[0], misloaded)
            if fix is not None:
                yield fix


def _suggest_matching_keys(
    text: SourceText, argument: ast.expr, misloaded: Misloaded
) -> Fix | None:
    """Return the fix that gives all keys the names that the model has for them, if a
    part of them makes the difference.
    """
    theirs, ours = prefix_of(misloaded)
    renamed = _find_renaming(misloaded)
    key = f'f"{ours}{{k}}"' if ours else ""
    key = f'k.removeprefix("{theirs}")' if theirs else key
    if renamed and not key:
        key = f'k.replace("{renamed[0]}", "{renamed[1]}")'
    if not key and misloaded.matched is not None:
        key = write_renamed_key(misloaded.unexpected, misloaded.missing)
    if key:
        form = f"{{{key}: v for k, v in %s{misloaded.path}.items()}}"
        return _rename_keys(text, argument, form)
    if misloaded.path and (
        misloaded.matched is not None or not _has_differences(misloaded)
    ):
        return _rename_keys(text, argument, f"%s{misloaded.path}")
    return None


def _has_differences(misloaded: Misloaded) -> bool:
    return bool(misloaded.resized or misloaded.missing or misloaded.unexpected)


def _find_renaming(misloaded: Misloaded) -> tuple[str, str] | None:
    """Return the part of the keys to replace, and by what, if one change fits them all.

    Example: ``("features.", "backbone.")``.
    """
    for theirs in misloaded.unexpected[:1]:
        for ours in misloaded.missing:
            parts, others = theirs.split("."), ours.split(".")
            while parts and others and parts[-1] == others[-1]:
                parts, others = parts[:-1], others[:-1]
            while parts and others and parts[0] == others[0]:
                parts, others = parts[1:], others[1:]
            if parts and others:
                old, new = ".".join(parts) + ".", ".".join(others) + "."
                if {key.replace(old, new) for key in misloaded.unexpected} == set(
                    misloaded.missing
                ):
                    return old, new
    return None


def _list_other_sizes(misloaded: Misloaded) -> set[tuple[int, int]]:
    """Return the sizes of a model that its weights have otherwise, with theirs."""
    return {
        (ours[d], theirs[d])
        for _, ours, theirs in misloaded.resized
        if len(ours) == len(theirs)
        for d in range(len(ours))
        if ours[d] != theirs[d]
    }


def _suggest_constructor(
    program: Program, misloaded: Misloaded, settings: bool
) -> Iterator[Fix]:
    """Suggest the argument with which a model is built as it was when it was saved;
    with `settings` also where a name or a dict of settings stands for it.
    """
    pairs = _list_other_sizes(misloaded)
    for file in program.trace.sources:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            same = get_called_name(node) == misloaded.class_name
            if text is not None and same and isinstance(node, ast.Call):
                yield from _change_arguments(
                    text, node, misloaded.class_name, pairs, settings
                )


def _suggest_variants(program: Program) -> Iterator[Fix]:
    """Suggest the name of another variant where one is written: "densenet121" for
    "densenet161", if the program has both.
    """
    for text in program.own_texts():
        variants: dict[str, list[ast.Constant]] = {}
        for node in text.nodes:
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and isinstance(node, ast.Constant):
                name = str(node.value)
                if VARIANT.fullmatch(name):
                    variants.setdefault(re.sub(r"\d+", "#", name), []).append(node)
        for nodes in variants.values():
            names = list(dict.fromkeys(str(node.value) for node in nodes))
            nodes.sort(key=lambda node: not isinstance(text.parent(node), ast.keyword))
            for node in nodes:  # a default before what is given on purpose
                if isinstance(text.parent(node), ast.Compare | ast.Dict):
                    continue  # where the variants are told apart
                for name in names:
                    if name != node.value:
                        edit = Edit(text.span(node), repr(name))
                        message = f"`{name!r}` for `{node.value!r}`"
                        yield Fix("fits", message, (edit,))


VARIANT = re.compile(r"[A-Za-z][\w.-]*\d[\w.-]*")
"""The name of a variant of a model: "resnet50", "densenet121_bts"."""


def _change_arguments(
    text: SourceText,
    call: ast.Call,
    kind: str,
    pairs: set[tuple[int, int]],
    settings: bool,
) -> Iterator[Fix]:
    """Suggest other numbers for the arguments of a constructor, given or default."""
    keywords = {word.arg: word.value for word in call.keywords}
    defined = [
        node.args
        for name, node in text.functions("__init__")
        if name.split(".")[-2:-1] == [kind]
    ]
    for ours, theirs in sorted(pairs):
        for value in (*call.args, *keywords.values()):
            for number in _iter_numbers_of(text, value) if settings else (value,):
                if evaluate_whole_number(number) == ours:
                    edit = Edit(text.span(number), str(theirs))
                    word = text.parent(number)
                    shown = f"`{theirs}` for `{ours}`"
                    if isinstance(word, ast.keyword) and word.arg == "default":
                        shown = f"`default={theirs}`"
                    yield Fix("fits", shown, (edit,))
        for arguments in defined:
            last = arguments.args[len(arguments.args) - len(arguments.defaults) :]
            for name, value in zip(last, arguments.defaults, strict=True):
                if evaluate_whole_number(value) == ours and name.arg not in keywords:
                    yield with_keyword(text, call, f"{name.arg}={theirs}")


def _iter_numbers_of(text: SourceText, value: ast.expr) -> Iterator[ast.expr]:
    """Yield an argument, or what is written for it where it is a name, an attribute or
    an entry of a dict of settings: ``2`` of ``{"classes": 2}`` for `config["classes"]`.
    """
    yield value
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        for node in text.nodes:
            if not isinstance(node, ast.Dict):
                continue
            for key, entry in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == value.slice.value:
                    yield entry
    elif isinstance(value, ast.Name | ast.Attribute):
        yield from find_defining(text, get_last_name(value))
        for option, default in iter_command_options(text):
            if option == get_last_name(value):
                yield default


def _load_without_resized(
    text: SourceText, call: ast.Call, misloaded: Misloaded
) -> Fix:
    """Return the fix that loads all but what has another size."""
    modules = tuple(
        dict.fromkeys(f"{_get_owner(key)}." for key, _, _ in misloaded.resized)
    )
    names = repr(modules[0]) if len(modules) == 1 else repr(modules)
    names = names.replace("'", '"')
    kept = (
        f"{{k: v for k, v in %s{misloaded.path}.items() if not k.startswith({names})}}"
    )
    return _load_loosely(text, call, _rename_keys(text, call.args[0], kept))


def _rename_keys(text: SourceText, argument: ast.expr, form: str) -> Fix:
    """Return the fix that renames the keys of the dict."""
    new = form % text.written(argument)
    return Fix("fits", f"`{new}`", (Edit(text.span(argument), new),))


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
    message = "`strict=False`" + (f" with {fix.message}" if fix is not None else "")
    values = [word.value for word in call.keywords if word.arg == "strict"]
    for value in values or call.args[1:2]:
        if text.written(value) != "False":
            edits = (*edits, Edit(text.span(value), "False"))
        return Fix("fits", message, edits)
    return Fix("fits", message, (*edits, Edit(end, ", strict=False")))
