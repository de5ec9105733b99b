"""Definitions of a file that can be checked by themselves, found in its text.

Nothing is run or imported: a class counts as a module by its bases and its `forward`,
a function as one of tensors by its annotations and by what its body does with its
arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from shapewright.program.syntax_nodes import (
    collect_names,
    get_dotted_name,
    get_first_line,
    get_last_line,
    is_generator,
    iter_own_nodes,
)

Kind = Literal["class", "instance", "function", "builder"]

TRACKS_NO_SHAPES = frozenset("save load manual_seed set_grad_enabled is_tensor".split())
"""Functions of torch whose arguments need not be tensors of a model."""

METHODS = frozenset(
    "abs argmax argmin chunk clamp contiguous cumsum detach dim div exp expand flatten"
    " gather index_select log log_softmax masked_fill matmul mean mul ndim norm numel"
    " permute pow relu repeat reshape scatter select sigmoid softmax split sqrt squeeze"
    " std sum tanh topk transpose tril triu type_as unbind unfold unsqueeze var view"
    " view_as".split()
)
"""Methods and attributes that show that an argument is a tensor."""


@dataclass(frozen=True, slots=True)
class Runnable:
    """A name of a file that can be used as a target.

    `kind` says what it is: a module class, an instance, a function of tensors, or a
    function that returns a module. `first` and `last` are its lines, `needs` the
    arguments without which it cannot be built, `uses` the other runnables it mentions.
    """

    name: str
    kind: Kind
    first: int
    last: int
    needs: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()


@dataclass(slots=True)
class _File:
    """The names of a file while they are read."""

    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    tree: ast.Module | None = None

    def full_name(self, node: ast.expr) -> str:
        """Return `torch.nn.Linear` for `nn.Linear`, by following imports."""
        first, dot, rest = get_dotted_name(node).partition(".")
        return f"{self.aliases.get(first, first)}{dot}{rest}"


def find_runnables(tree: ast.Module) -> tuple[Runnable, ...]:
    """Return the modules, instances, builders and tensor functions of a file, in its
    order.

    Names that begin with an underscore are left out, unless there are no others.
    """
    file = _File(tree=tree)
    for node in _iter_statements(tree.body):
        if isinstance(node, ast.ClassDef):
            file.classes[node.name] = node
        elif isinstance(node, ast.FunctionDef):
            file.functions[node.name] = node
    for other in ast.walk(tree):
        if isinstance(other, ast.Import):
            for name in other.names:
                short = name.name.partition(".")[0]
                file.aliases[name.asname or short] = name.name if name.asname else short
        elif isinstance(other, ast.ImportFrom) and not other.level:
            for name in other.names:
                file.aliases[name.asname or name.name] = f"{other.module}.{name.name}"
    runnables = {runnable.name: runnable for runnable in _find_runnables(file, tree)}
    public = [
        runnable for runnable in runnables.values() if not runnable.name.startswith("_")
    ]
    kept = {runnable.name: runnable for runnable in public or runnables.values()}
    return tuple(
        replace(runnable, uses=_find_uses(tree, runnable, kept))
        for runnable in kept.values()
    )


def _find_uses(
    tree: ast.Module, runnable: Runnable, known: dict[str, Runnable]
) -> frozenset[str]:
    """Return those of the other names that a definition mentions, at any depth."""
    bodies: dict[str, set[str]] = {}
    for node in _iter_statements(tree.body):
        targets = getattr(node, "targets", ())
        names = [getattr(node, "name", "")]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
        for name in names:
            bodies.setdefault(name, set()).update(collect_names(node))
    used_names: set[str] = set()
    queue = [runnable.name]
    while queue:
        for name in bodies.get(queue.pop(), ()):
            if name not in used_names and name in bodies:
                used_names.add(name)
                queue.append(name)
    return frozenset((used_names & known.keys()) - {runnable.name})


def find_outermost(runnables: Iterable[Runnable]) -> list[Runnable]:
    """Return the runnables that no other one uses, from the end of the file on,
    functions last.
    """
    listed = list(runnables)
    used = {name for runnable in listed for name in runnable.uses}
    roots = [runnable for runnable in reversed(listed) if runnable.name not in used]
    return sorted(roots, key=lambda runnable: runnable.kind == "function")


def _iter_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a file, including those under `if` and `try`."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and not _is_main(node.test):
            yield from _iter_statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _iter_statements([*node.body, *node.orelse, *node.finalbody])


def _is_main(test: ast.expr) -> bool:
    """Return whether a condition is ``__name__ == "__main__"``."""
    return "__name__" in collect_names(test)


def _find_runnables(file: _File, tree: ast.Module) -> Iterator[Runnable]:
    for node in _iter_statements(tree.body):
        if isinstance(node, ast.ClassDef) and _is_module_class(file, node):
            yield Runnable(
                node.name,
                "class",
                *_count_lines(node),
                list_required_arguments(_find_initializer(file, node), 1),
            )
        elif isinstance(node, ast.FunctionDef):
            kind = _get_function_kind(file, node)
            if kind is not None:
                needs = list_required_arguments(node) if kind == "builder" else ()
                yield Runnable(node.name, kind, *_count_lines(node), needs)
        elif isinstance(node, ast.Assign) and _is_module_call(file, node.value):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield Runnable(target.id, "instance", *_count_lines(node))


def _count_lines(node: ast.stmt) -> tuple[int, int]:
    return get_first_line(node), get_last_line(node)


# -- modules -----------------------------------------------------------------------


def _is_module_class(file: _File, node: ast.ClassDef) -> bool:
    """Return whether a class is an `nn.Module` that has, or inherits, a `forward`."""
    family = list(_find_family(file, node))
    own = any(_find_method(ancestor, "forward") is not None for ancestor in family)
    bases = [file.full_name(base) for ancestor in family for base in ancestor.bases]
    outside = [name for name in bases if name and name not in file.classes]
    layers = [name for name in outside if _is_layer(name)]
    if any(not name.endswith(PLAIN_BASES) for name in layers):
        return True  # of a layer, which has a forward
    foreign = any(not name.startswith("torch.") for name in outside)
    return own and (bool(layers) or (foreign and not _is_known_other(outside)))


PLAIN_BASES = (".Module", ".LightningModule", ".PreTrainedModel")
"""Bases that have no `forward` of their own."""


def _is_known_other(names: list[str]) -> bool:
    others = ("ABC", "Protocol", "NamedTuple", "Enum", "Function", "Dataset")
    return all(
        name.rpartition(".")[2] in (*others, "Generic", "object") for name in names
    )


def _is_layer(name: str) -> bool:
    """Return whether a name of another file is a class of modules."""
    if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional"):
        last = name.rpartition(".")[2]
        return last[:1].isupper() and last not in ("Parameter", "Buffer")
    return name.endswith(PLAIN_BASES)


def _find_family(file: _File, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield a class and its bases in the same file."""
    seen: set[str] = set()
    queue = [node]
    while queue:
        current = queue.pop(0)
        if current.name in seen:
            continue
        seen.add(current.name)
        yield current
        names = [base.id for base in current.bases if isinstance(base, ast.Name)]
        queue += [file.classes[name] for name in names if name in file.classes]


def _find_method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    methods = [
        statement
        for statement in node.body
        if isinstance(statement, ast.FunctionDef) and statement.name == name
    ]
    return methods[-1] if methods else None


def _find_initializer(file: _File, node: ast.ClassDef) -> ast.FunctionDef | None:
    methods = (
        _find_method(ancestor, "__init__") for ancestor in _find_family(file, node)
    )
    return next((method for method in methods if method is not None), None)


def list_required_arguments(
    node: ast.FunctionDef | None, bound: int = 0
) -> tuple[str, ...]:
    """Return the names of the arguments that must be given, after the first `bound`
    ones.
    """
    if node is None:
        return ()
    arguments = node.args
    positional = [
        argument.arg for argument in (*arguments.posonlyargs, *arguments.args)
    ]
    positional = positional[: len(positional) - len(arguments.defaults)]
    keywords = [
        argument.arg
        for argument, default in zip(
            arguments.kwonlyargs, arguments.kw_defaults, strict=True
        )
        if default is None
    ]
    return (*positional[bound:], *keywords)


def _is_module_call(file: _File, node: ast.expr) -> bool:
    """Return whether an expression builds a module: ``Net(3).to(device)``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in (
            "to",
            "cuda",
            "cpu",
            "eval",
            "train",
            "half",
            "float",
        ):
            break
        node = node.func.value
    if not isinstance(node, ast.Call):
        return False
    name = file.full_name(node.func)
    if name in file.classes:
        return _is_module_class(file, file.classes[name])
    if name in ("torch.compile", "torch.jit.script") and node.args:
        return _is_module_call(file, node.args[0])
    return _is_layer(name) or name.startswith(
        ("torchvision.models.", "timm.create_model")
    )


# -- functions ---------------------------------------------------------------------


def _get_function_kind(file: _File, node: ast.FunctionDef) -> Kind | None:
    if node.name == "example_inputs" or is_generator(node):
        return None
    if _is_module_factory(file, node):
        return "builder"
    return "function" if _is_tensor_function(file, node) else None


def _is_module_factory(file: _File, node: ast.FunctionDef) -> bool:
    """Return whether a function returns a module that it builds."""
    if node.returns is not None:
        annotation = ast.unparse(node.returns).strip("'\"")
        name = (
            annotation
            if annotation in file.classes
            else file.full_name(node.returns) or annotation
        )
        if name in file.classes:
            return _is_module_class(file, file.classes[name])
        if _is_layer(name):
            return True
    module_names = {
        target.id
        for child in iter_own_nodes(node)
        if isinstance(child, ast.Assign) and _is_module_call(file, child.value)
        for target in child.targets
        if isinstance(target, ast.Name)
    }
    for child in iter_own_nodes(node):
        if isinstance(child, ast.Return) and child.value is not None:
            if _is_module_call(file, child.value):
                return True
            if isinstance(child.value, ast.Name) and child.value.id in module_names:
                return True
    return False


def _is_tensor_function(file: _File, node: ast.FunctionDef) -> bool:
    """Return whether a function does arithmetic on arguments that are tensors."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    argument_types = [
        argument.annotation for argument in arguments if argument.annotation is not None
    ]
    if any("Tensor" in ast.unparse(annotation) for annotation in argument_types):
        return True
    names = {argument.arg for argument in arguments if argument.annotation is None}
    return any(_is_tensor_work(file, child, names) for child in iter_own_nodes(node))


def _is_tensor_work(file: _File, node: ast.AST, names: set[str]) -> bool:
    """Return whether a node uses one of these names like a tensor."""

    def is_named(value: ast.expr) -> bool:
        return isinstance(value, ast.Name) and value.id in names

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return is_named(node.left) or is_named(node.right)
    if isinstance(node, ast.Attribute):
        return node.attr in METHODS and is_named(node.value)
    if not isinstance(node, ast.Call):
        return False
    name = file.full_name(node.func)
    of_torch = name.startswith(("torch.", "einops."))
    arguments: list[ast.expr] = list(node.args)
    for argument in node.args:
        if isinstance(argument, ast.List | ast.Tuple):
            arguments += argument.elts
    called = name.rpartition(".")[2]
    is_operator = of_torch and called not in TRACKS_NO_SHAPES and called[:1].islower()
    return is_operator and any(map(is_named, arguments))
