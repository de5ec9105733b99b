"""Groups of parameters that an optimizer refuses: two with the same parameter, or
another number of them in a state that is loaded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_line,
    list_arguments,
)

REFUSED = "some parameters appear in more than one parameter group"
OTHER_NUMBER = "loaded state dict has a different number of parameter groups"
ITEM = re.compile(r"(\w+)\[\d+\]$")
MOST_NAMES = 3


def find_repeated_parameters(program: Program, finding: Finding) -> Explanation | None:
    """Return which parameters are in two groups and why, or None."""
    place = program.node(finding.span)
    if REFUSED not in finding.words or place is None:
        return None
    text, node = place
    pair = next(_iter_filled_pairs(program, text, node), None)
    if pair is not None:
        return _explain_filled_lists(program, *pair)
    return _explain_whole_and_part(text, node)


# -- lists that a loop fills -----------------------------------------------------------


def _iter_filled_pairs(
    program: Program, text: SourceText, node: ast.AST
) -> Iterator[tuple[SourceText, ast.For, list[ast.If]]]:
    """Yield loops over parameters with tests one below another, each of which fills a
    list; those in the function of the optimizer first.
    """
    scope = text.around(node, *FUNCTIONS)
    places = [(text, n) for n in text.nodes if text.around(n, *FUNCTIONS) is scope]
    places += [(own, n) for own in program.own_texts() for n in own.nodes]
    for where, loop in places:
        if not isinstance(loop, ast.For) or get_called_name(loop.iter) not in (
            "named_parameters",
            "parameters",
        ):
            continue
        tests: list[ast.If] = []
        for statement in loop.body:
            if isinstance(statement, ast.If) and _list_filled(statement):
                tests.append(statement)
            elif len(tests) < 2:
                tests = []
            else:
                break
        if len(tests) > 1 and len({_list_filled(test)[0] for test in tests}) > 1:
            yield where, loop, tests


def _list_filled(test: ast.If) -> list[str]:
    """Return the names of the lists that the body of an `if` appends to."""
    return [
        get_dotted_name(node.func.value)
        for statement in test.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
    ]


def _explain_filled_lists(
    program: Program, text: SourceText, loop: ast.For, tests: list[ast.If]
) -> Explanation | None:
    """Explain parameters that pass two tests of a loop."""
    first, second = tests[0], tests[1]
    lists = [_list_filled(test)[0] for test in tests]
    names = _list_shared(program, lists)
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMES])
    more = " and others" if len(names) > MOST_NAMES else ""
    what = f"{shown}{more}" if names else "some parameters"
    verb = "is" if len(names) == 1 else "are"
    message = (
        f"{what} {verb} in two groups: both tests hold, `{text.line_of(first.test)}`"
        f" and `{text.line_of(second.test)}`"
    )
    related = tuple(
        Related(text.span(test.test), f"`{name}` is filled here")
        for test, name in zip(tests, lists, strict=True)
    )
    fixes: list[Fix] = []
    if not any(_has_else(test) for test in tests[:-1]):
        edits = tuple(Edit(text.span(test).start, "el") for test in tests[1:])
        fixes.append(Fix("fits", f"`elif {text.line_of(second.test)}`", edits))
    if len(tests) == 2 and not first.orelse:
        test, specific = text.line_of(first.test), text.line_of(second.test)
        if isinstance(first.test, ast.BoolOp) and isinstance(first.test.op, ast.Or):
            test = f"({test})"
        new = f"{test} and not ({specific})"
        edit = Edit(text.span(first.test), new)
        fixes.append(Fix("fits", f"`if {new}`", (edit,)))
    return Explanation(message, related, tuple(fixes))


def _has_else(test: ast.If) -> bool:
    """Return whether a chain of tests ends with an `else`."""
    while len(test.orelse) == 1 and isinstance(test.orelse[0], ast.If):
        test = test.orelse[0]
    return bool(test.orelse)


def _list_shared(program: Program, lists: list[str]) -> list[str]:
    """Return the names of the parameters that are in more than one of the lists."""
    tensors = program.ending.tensors if program.ending is not None else {}
    holders: dict[int, set[str]] = {}
    for name, fact in tensors.items():
        item = ITEM.match(name)
        if item is not None and item[1] in lists:
            holders.setdefault(fact.tensor, set()).add(item[1])
    names: dict[int, str] = {}
    for name, fact in tensors.items():
        if "." in name and "[" not in name:  # `model.head.weight`, not the loop's `p`
            names.setdefault(fact.tensor, name)
    shared = [tensor for tensor, within in holders.items() if len(within) > 1]
    return [names[tensor] for tensor in shared if tensor in names]


# -- a model beside one of its layers --------------------------------------------------


def _explain_whole_and_part(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain `{"params": model.parameters()}` beside `model.fc.parameters()`."""
    call = node if isinstance(node, ast.Call) else None
    is_added = call is not None and get_called_name(call) == "add_param_group"
    groups = [
        value
        for argument in (list_arguments(call) if call is not None else ())
        for source in (argument, *find_defining(text, get_dotted_name(argument)))
        for value in (source.elts if isinstance(source, ast.List) else [source])
        if isinstance(value, ast.Dict) and (is_added or value is not source)
    ]
    held = [
        value
        for group in groups
        for key, value in zip(group.keys, group.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "params"
    ]
    if is_added and call is not None:
        held += _list_first_arguments(text, call)
    owners = [
        (get_dotted_name(inner.func.value), value)
        for parameters in held
        for value in (parameters, *find_defining(text, get_dotted_name(parameters)))
        for inner in (_strip_list(value),)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
        if inner.func.attr == "parameters" and not inner.args
    ]
    for whole, value in owners:
        parts = [name for name, _ in owners if whole and name.startswith(f"{whole}.")]
        if not parts:
            continue
        heads = [f"{name.removeprefix(whole)[1:]}." for name in parts]
        quoted = ", ".join(f'"{head}"' for head in heads)
        prefix = f"({quoted})" if len(heads) > 1 else quoted
        new = (
            f"[p for n, p in {whole}.named_parameters() if not n.startswith({prefix})]"
        )
        shown = ", ".join(f"`{name}.parameters()`" for name in parts)
        message = (
            f"the parameters of {shown} are in two groups: `{whole}.parameters()` has"
            " them, too"
        )
        related = (Related(text.span(value), "all parameters are given here"),)
        fix = Fix("fits", f"`{new}`", (Edit(text.span(value), new),))
        return Explanation(message, related, (fix,))
    return None


def _strip_list(value: ast.expr) -> ast.expr:
    """Return what `list(...)` is made of, other expressions as they are."""
    if isinstance(value, ast.Call) and get_called_name(value) == "list" and value.args:
        return value.args[0]
    return value


def _list_first_arguments(text: SourceText, call: ast.Call) -> list[ast.expr]:
    """Return what the optimizer of `optimizer.add_param_group(...)` was built with."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return [
        value.args[0]
        for value in find_defining(text, get_dotted_name(owner).rpartition(".")[2])
        if isinstance(value, ast.Call) and value.args
    ]


# -- a state with other groups ---------------------------------------------------------


def find_other_groups(program: Program, finding: Finding) -> Explanation | None:
    """Return how many groups a loaded state and its optimizer have, or None."""
    place = program.call_at(finding.span)
    if OTHER_NUMBER not in finding.words:
        return None
    if place is None or not isinstance(place[1].func, ast.Attribute):
        return None
    text, call = place
    values = program.ending.values if program.ending is not None else {}
    name = text.line_of(place[1].func.value)
    state = text.line_of(call.args[0]).replace("'", '"') if call.args else ""
    present = values.get(f"len({name}.param_groups)")
    saved = values.get(f'len({state}["param_groups"])')
    if not isinstance(present, int) or not isinstance(saved, int):
        return None
    message = (
        f"the state was saved from an optimizer with {saved}"
        f" group{'s' * (saved != 1)} of parameters, and"
        f" `{name}` has {present}: both have to be built in the same way"
    )
    calls = list(_iter_building_calls(program))
    related = [
        Related(where.span(node), "an optimizer is built here") for where, node in calls
    ]
    for own in program.own_texts():
        for node in own.nodes:
            if get_called_name(node) == "add_param_group" and isinstance(
                node, ast.Call
            ):
                related.append(Related(own.span(node), "a group is added here"))
    fixes = [*_suggest_same_build(calls)]
    fixes += _suggest_groups_of_other(text, place[1].func.value, calls)
    return Explanation(message, tuple(related), tuple(fixes))


def _iter_building_calls(program: Program) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls that build optimizers: those of a function of the program that
    builds one, or else of the class itself.
    """
    rehearsal = program.rehearsal
    optimizers = rehearsal.training.optimizers if rehearsal is not None else ()
    for (file, line), kind in {o.built: o.name for o in optimizers}.items():
        text = program.text(file)
        if text is None:
            continue
        built = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call) and get_called_name(node) == kind
            if node.lineno <= line <= get_last_line(node)
        ]
        function = text.around(built[0], ast.FunctionDef) if built else None
        users = [
            (own, node)
            for own in program.own_texts()
            for node in own.nodes
            if isinstance(node, ast.Call) and function is not None
            if get_called_name(node) == function.name
        ]
        yield from users if len(users) > 1 else [(text, node) for node in built[:1]]


def _suggest_same_build(calls: list[tuple[SourceText, ast.Call]]) -> Iterator[Fix]:
    """Suggest the arguments of one of two calls of a function for the other."""
    if len(calls) != 2 or calls[0][0].file != calls[1][0].file:
        return
    (text, first), (_, second) = sorted(calls, key=lambda entry: entry[1].lineno)
    pairs = list(zip(list_arguments(first), list_arguments(second), strict=False))
    words = [[word.arg for word in call.keywords] for call in (first, second)]
    differing = [pair for pair in pairs if len({*map(text.line_of, pair)}) > 1]
    alike = text.written(first.func) == text.written(second.func)
    if not alike or words[0] != words[1] or len(first.args) != len(second.args):
        return
    if len(differing) != 1 or not all(
        isinstance(n, ast.Constant) for n in differing[0]
    ):
        return
    early, late = differing[0]
    for call, old, new in ((first, early, late), (second, late, early)):
        value = text.written(new)
        edit = Edit(text.span(old), value)
        written, begin = text.line_of(call), text.span(call)
        if begin.line == begin.end_line:
            at = text.span(old).column - begin.column
            rest = at + len(text.written(old))
            written = f"{written[:at]}{value}{written[rest:]}"
        yield Fix("fits", f"`{written}`", (edit,))


def _suggest_groups_of_other(
    text: SourceText, optimizer: ast.expr, calls: list[tuple[SourceText, ast.Call]]
) -> Iterator[Fix]:
    """Suggest the groups that another optimizer was built with, those of the other
    model if there are two that are built alike.
    """
    own = find_known_value(text, optimizer)
    others = [
        call for where, call in calls if where.file == text.file and call is not own
    ]
    if len(others) != 1 or len(calls) != 2 or not isinstance(own, ast.Call):
        return
    if (
        not own.args
        or not others[0].args
        or text.around(own, *FUNCTIONS) is not (text.around(others[0], *FUNCTIONS))
    ):
        return
    groups = others[0].args[0]
    if isinstance(groups, ast.Name):
        groups = find_known_value(text, groups)
    if not isinstance(groups, ast.Call | ast.List | ast.ListComp):
        return
    own_models, models = (_find_models(text, part) for part in (own.args[0], groups))
    if len(own_models) != 1 or len(models) != 1:
        return
    (own_name, own_value), (name, value) = *own_models.items(), *models.items()
    if own_name != name and text.written(own_value) != text.written(value):
        return
    written = text.written(groups)
    if re.search(rf"[\"'.]{name}\b|\b{name}\s*=[^=]", written):
        return  # a text or a keyword by that name
    new = re.sub(rf"\b{name}\b", own_name, written)
    edit = Edit(text.span(own.args[0]), new)
    called = f"{text.written(own.func)}({join_lines(new)}"
    rest = [text.written(part) for part in own.args[1:]]
    rest += [f"{word.arg}={text.written(word.value)}" for word in own.keywords]
    yield Fix("fits", f"`{', '.join([called, *rest])})`", (edit,))


def _find_models(text: SourceText, part: ast.expr) -> dict[str, ast.Call]:
    """Return the names in an expression that calls were assigned to, with the calls."""
    models = {}
    for node in ast.walk(part):
        value = find_known_value(text, node) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Name) and isinstance(value, ast.Call):
            models[node.id] = value
    return models
