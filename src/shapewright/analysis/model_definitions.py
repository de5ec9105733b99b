"""Errors that a model's definition causes elsewhere: an optimizer without parameters, a
tensor that is no parameter any more, a module before `super().__init__()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.module_lists import find_module_list
from shapewright.analysis.fixes.statements import (
    cut_lines,
    wrap_in_no_grad,
    write_before,
)
from shapewright.analysis.misspelt_methods import explain_misspelt
from shapewright.analysis.optimized_results import explain_optimized_result
from shapewright.analysis.parameter_rows import find_parameter_rows
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    LEAF_WRITTEN,
    NOT_A_MODULE_YET,
    NOTHING_TO_TRAIN,
)
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
    get_own_attribute,
    list_reads,
)

EMPTY = "optimizer got an empty parameter list"
NON_LEAF = "can't optimize a non-leaf Tensor"
TOO_EARLY = "before Module.__init__() call"
LAYERS = ("nn.", "torch.nn.")


def explain_definition(program: Program, finding: Finding) -> Finding:
    """Return the finding on an error with its cause in a model's definition."""
    code, cause = _find_cause(program, finding)
    if cause is None:
        return finding
    return replace(
        finding,
        code=code,
        message=cause.message,
        torch_message=finding.message.partition(": ")[2] or finding.torch_message,
        related=(*cause.related, *finding.related),
    )


def suggest_definitions(program: Program, finding: Finding) -> Iterator[Fix]:
    """Yield the edits of a model's definition that may mend an error."""
    cause = _find_cause(program, finding)[1]
    if cause is not None:
        yield from cause.fixes


def _find_cause(program: Program, finding: Finding) -> tuple[str, Explanation | None]:
    """Return the code and the cause of an error, or None for other errors."""
    text_and_node = program.node(finding.span)
    messages = finding.words
    if text_and_node is None:
        return "", None
    text, node = text_and_node
    if EMPTY in messages:
        return NOTHING_TO_TRAIN, _explain_empty(program, text, node)
    if NON_LEAF in messages:
        rows = find_parameter_rows(program, text, node)
        return NOTHING_TO_TRAIN, rows or explain_optimized_result(
            program, text, _get_parameters(node)
        )
    if TOO_EARLY in messages or "has no attribute '_parameters'" in messages:
        return NOT_A_MODULE_YET, _explain_early(program, text, node)
    if "leaf Variable that requires grad" in messages:
        return LEAF_WRITTEN, _explain_leaf(text, node)
    if "object has no attribute '_modules'" in messages:
        return NOT_A_MODULE_YET, _explain_early(program, text, node)
    return "", None


# -- an optimizer without parameters ---------------------------------------------------


def _explain_empty(
    program: Program, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Explain an optimizer that got no parameters."""
    parameters = _get_parameters(node)
    if parameters is None:
        return None
    used = _find_used_generator(text, parameters)
    if used is not None:
        return used
    owner = parameters
    if isinstance(parameters, ast.Call) and isinstance(parameters.func, ast.Attribute):
        owner = parameters.func.value
    defining = [parameters]
    if isinstance(parameters, ast.Name):
        defining += find_defining(text, parameters.id)
    for value in defining[-1:]:
        filtered = _strip_list(value)
        is_filter = isinstance(filtered, ast.ListComp | ast.GeneratorExp)
        if is_filter or get_called_name(filtered) == "filter":
            return _explain_frozen(text, filtered)
    definition = _find_class(program, text, owner)
    if definition is None:
        return None
    where, kind = definition
    return (
        explain_misspelt(where, kind, "__init__")
        or _explain_containers(program, where, kind)
        or _explain_other_weights(where, kind, text, parameters)
    )


def _get_parameters(node: ast.AST) -> ast.expr | None:
    """Return what an optimizer is given to train."""
    if not isinstance(node, ast.Call):
        return None
    named = [word.value for word in node.keywords if word.arg == "params"]
    return node.args[0] if node.args else (named[0] if named else None)


def _find_class(
    program: Program, text: SourceText, owner: ast.expr
) -> tuple[SourceText, ast.ClassDef] | None:
    """Return the class of the program that an expression is an object of."""
    name = get_dotted_name(owner)
    kinds = [get_called_name(owner)] if isinstance(owner, ast.Call) else []
    for node in text.nodes:
        if isinstance(node, ast.Assign) and any(
            get_dotted_name(target) == name for target in node.targets
        ):
            for value in ast.walk(node.value):
                kinds += [get_called_name(value)] if isinstance(value, ast.Call) else []
    if name == "self":
        around = text.around(owner, ast.ClassDef)
        return (text, around) if around is not None else None
    files = [text.file, *program.trace.sources]
    for kind in kinds:
        for file in files:
            where = program.text(file)
            for _, definition in where.definitions(kind) if where is not None else ():
                if isinstance(definition, ast.ClassDef) and where is not None:
                    return where, definition
    return None


def _explain_containers(
    program: Program, where: SourceText, kind: ast.ClassDef
) -> Explanation | None:
    """Explain layers in Python lists and dicts, where a module does not look."""
    for node in ast.walk(kind):
        if not isinstance(node, ast.Call):
            continue
        written = where.written(node.func)
        if not written.startswith(LAYERS) and get_called_name(
            node
        ) not in _list_classes(where):
            continue
        fix = find_module_list(program, where.span(node))
        if fix is not None and fix.edits:
            place = fix.edits[0].span
            what = "dict" if "Dict" in fix.message else "list"
            message = f"the layers of `{kind.name}` are in a Python {what}, at line"
            message += f" {place.line}: its `parameters()` look into modules only"
            return Explanation(message, (Related(place, f"a plain {what}"),), (fix,))
    return None


def _explain_other_weights(
    where: SourceText, kind: ast.ClassDef, text: SourceText, parameters: ast.expr
) -> Explanation:
    """Explain a model that registers no parameter; another method may list them."""
    has_attributes = any(
        get_own_attribute(node.targets[0])
        for node in ast.walk(kind)
        if isinstance(node, ast.Assign)
    )
    message = f"`{kind.name}` registers no parameter"
    message += ": its weights are plain tensors or buffers" if has_attributes else ""
    related = (Related(where.span(kind).start, f"`{kind.name}` is defined here"),)
    fixes = []
    methods = [
        name.rpartition(".")[2]
        for name, node in where.functions()
        if "param" in name.rpartition(".")[2] and len(node.args.args) == 1
    ]
    if isinstance(parameters, ast.Call) and isinstance(parameters.func, ast.Attribute):
        for method in dict.fromkeys(methods):
            if method != parameters.func.attr:
                new = f"{text.written(parameters.func.value)}.{method}()"
                edit = Edit(text.span(parameters), new)
                fixes.append(Fix("fits", f"`{new}`", (edit,)))
    return Explanation(message, related, tuple(fixes))


def _list_classes(where: SourceText) -> set[str]:
    """Return the names of the classes that a file defines."""
    return {
        node.name for _, node in where.definitions() if isinstance(node, ast.ClassDef)
    }


def _find_used_generator(text: SourceText, parameters: ast.expr) -> Explanation | None:
    """Explain `model.parameters()` kept in a name and read before the optimizer."""
    if not isinstance(parameters, ast.Name):
        return None
    scope = text.around(parameters, ast.FunctionDef)
    if scope is not None and parameters.id in (a.arg for a in scope.args.args):
        return _explain_used_argument(text, scope, parameters)
    for node in text.nodes:
        if (
            isinstance(node, ast.Assign)
            and get_dotted_name(node.targets[0]) == parameters.id
        ):
            call = node.value
            if get_called_name(call) not in (
                "parameters",
                "filter",
                "named_parameters",
            ):
                continue
            readers = [
                reader
                for reader in text.nodes
                if isinstance(reader, ast.Name)
                and reader.id == parameters.id
                and isinstance(reader.ctx, ast.Load)
                and node.lineno < reader.lineno < parameters.lineno
            ]
            if readers:
                line = readers[0].lineno
                written = text.written(call)
                new = f"list({written})"
                message = (
                    f"`{parameters.id}` is a generator, and line {line} has used it up"
                )
                fix = Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
                related = (
                    Related(text.span(readers[0]), "it is read to its end here"),
                    Related(text.span(node), "it is made here"),
                )
                return Explanation(message, related, (fix,))
    return None


def _explain_used_argument(
    text: SourceText, scope: ast.FunctionDef, parameters: ast.Name
) -> Explanation | None:
    """Explain parameters that an optimizer of the program reads before it hands them
    on: what `filter` gives is read once.
    """
    name = parameters.id
    readers = [
        node for node in list_reads(scope, name) if node.lineno < parameters.lineno
    ]
    if not readers:
        return None
    readers.sort(key=lambda node: node.lineno)
    message = (
        f"`{name}` is read to its end at line {readers[0].lineno}: a generator, such"
        " as `filter` or `model.parameters()` gives, has nothing left for the optimizer"
    )
    new = f"{name} = list({name})"
    edit = write_before(text, text.statement_of(readers[0]), new)
    related = (Related(text.span(readers[0]), "it is read to its end here"),)
    return Explanation(message, related, (Fix("fits", f"`{new}`", (edit,)),))


def _strip_list(value: ast.expr) -> ast.expr:
    """Return what `list(...)` is made of, other expressions as they are."""
    is_list = get_called_name(value) in ("list", "tuple")
    if is_list and isinstance(value, ast.Call) and value.args:
        return value.args[0]
    return value


def _explain_frozen(text: SourceText, parameters: ast.expr) -> Explanation | None:
    """Explain a filter that leaves no parameter, because all are frozen."""
    from shapewright.analysis.autograd_errors.lost_graphs import find_freezing

    if "requires_grad" not in text.written(parameters):
        return None
    listed = _find_listed_module(parameters)
    part = next(_iter_freezing(text, listed), None) if listed is not None else None
    place = part if part is not None else find_freezing(text)
    if place is None:
        return None
    written = join_lines(text.written(place))
    fixes: list[Fix] = []
    related = (Related(text.span(place), "frozen here"),)
    whose = ""
    if part is not None and isinstance(listed, ast.Attribute):
        whose = f" of `{text.written(listed)}`, and no other is listed"
        owner: ast.expr = listed.value
        while get_dotted_name(owner) not in ("", "self"):
            whole = text.written(owner)
            new = join_lines(text.written(parameters)).replace(
                f"{text.written(listed)}.", f"{whole}.", 1
            )
            edit = Edit(text.span(listed), whole)
            fixes.append(Fix("fits", f"`{new}`", (edit,)))
            if not isinstance(owner, ast.Attribute):
                break
            owner = owner.value
    message = f"`{written}` at line {place.lineno} freezes every parameter{whose}"
    flags = [
        flag
        for flag in ast.walk(place)
        if isinstance(flag, ast.Constant) and flag.value is False
    ]
    fixes += [
        Fix("fits", f"`{written.replace('False', 'True')}`",
            (Edit(text.span(flag), "True"),))
        for flag in flags[:1]
        if not fixes
    ]  # fmt: skip
    return Explanation(message, related, tuple(fixes))


def _find_listed_module(parameters: ast.expr) -> ast.expr | None:
    """Return the module whose parameters are filtered, if there is one."""
    owners = [
        node.func.value
        for node in ast.walk(parameters)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("parameters", "named_parameters")
    ]
    return owners[0] if len(owners) == 1 else None


def _iter_freezing(text: SourceText, module: ast.expr) -> Iterator[ast.stmt | ast.expr]:
    """Yield the statements that turn off the gradients of just this module."""
    name = get_dotted_name(module)
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "requires_grad_":
            values = [getattr(value, "value", None) for value in node.args]
            if name and get_dotted_name(get_receiver(node)) == name:
                yield from [node] if values == [False] else []
        elif isinstance(node, ast.For) and name:
            listed = _find_listed_module(node.iter)
            if listed is None or get_dotted_name(listed) != name:
                continue
            if any(isinstance(part, ast.If) for part in ast.walk(node)):
                continue
            for statement in ast.walk(node):
                value = statement.value if isinstance(statement, ast.Assign) else None
                is_off = isinstance(value, ast.Constant) and value.value is False
                if not isinstance(statement, ast.Assign) or not is_off:
                    continue
                if get_last_name(statement.targets[0]) == "requires_grad":
                    yield statement


# -- a result in place of a parameter --------------------------------------------------


def _explain_leaf(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain a write to a parameter while a model is built."""
    if not isinstance(node, ast.expr | ast.stmt):
        return None
    statement = text.statement_of(node)
    edit = wrap_in_no_grad(text, statement)
    written = text.line_of(statement)
    shown = f"`{written}`" if len(written) <= 60 else "this"
    message = (
        f"{shown} writes to a parameter: outside `torch.no_grad()` torch allows no"
    )
    message += " write to it"
    fixes: tuple[Fix, ...] = ()
    if edit is not None:
        fixes = (Fix("fits", f"`with torch.no_grad():` around {shown}", (edit,)),)
    return Explanation(message, (), fixes)


# -- a module before its own constructor -----------------------------------------------


def _explain_early(
    program: Program, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Explain a class whose `__init__` assigns modules before `super().__init__()`."""
    owner: tuple[SourceText, ast.ClassDef] | None = None
    around = text.around(node, ast.ClassDef)
    if around is not None:
        owner = text, around
    if owner is None and isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        owner = _find_class(program, text, inner)
    if owner is None:
        return None
    where, kind = owner
    for method in kind.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
            continue
        calls = [
            statement
            for statement in ast.walk(method)
            if isinstance(statement, ast.Expr)
            and _is_super_call(statement.value, where)
        ]
        first = next(
            (statement for statement in method.body if not _is_docstring(statement)),
            method.body[0],
        )
        related = [Related(where.span(first), "the first line of `__init__`")]
        if calls:
            message = f"`{kind.name}` calls `super().__init__()` at line"
            message += f" {calls[0].lineno}, after it has assigned modules"
            edits = [cut_lines(where, calls[0])]
            related = [Related(where.span(calls[0]), "this call belongs first")]
            new = where.written(calls[0])
        else:
            message = f"`{kind.name}.__init__` never calls `super().__init__()`"
            edits, new = [], "super().__init__()"
        fix = Fix("fits", f"`{new}` first in `__init__`",
                  (write_before(where, first, new), *edits))  # fmt: skip
        return Explanation(message, tuple(related), (fix,))
    return None


def _is_super_call(node: ast.expr, where: SourceText) -> bool:
    """Return whether an expression calls the constructor of a base class."""
    return get_called_name(node) == "__init__" and "self.__init__" not in where.written(
        node
    )


def _is_docstring(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
