"""Attributes of a data set that are read from what holds it: `train.targets` of a
`Subset`, which has those of the whole in `.dataset` and its own samples in `.indices`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
    get_own_attribute,
    iter_assignments,
)

NO_ATTRIBUTE = re.compile(
    r"'(Subset|ConcatDataset|DataLoader|TensorDataset)' object has no attribute"
    r" '(\w+)'"
)
MAKERS = {
    "Subset": ("Subset", "random_split"),
    "ConcatDataset": ("ConcatDataset",),
    "DataLoader": ("DataLoader",),
    "TensorDataset": ("TensorDataset",),
}
"""The calls that make what holds a data set."""
OF_WHOLE = re.compile(
    r"class|transform|root|^n_|num|mean|std|vocab|tokenizer|name|^size|shape|mode|"
    r"split|encoder|length",
)
"""In the names of attributes that say the same of each part of a data set."""
OF_LIBRARIES = frozenset({
    "class_to_idx", "classes", "data", "imgs", "labels", "samples", "target_transform",
    "targets", "transform",
})  # fmt: skip
"""Attributes of torchvision's data sets."""
TARGETS = re.compile(r"target|label|^ys?$|class")
LISTS = ("list", "tolist", "sorted")


def find_wrapped_data(program: Program, finding: Finding) -> Explanation | None:
    """Return what was read in place of the data set that it holds, or None."""
    missing = NO_ATTRIBUTE.search(finding.words)
    place = program.node(finding.span)
    if missing is None or place is None:
        return None
    text, node = place
    kind, attribute = missing.groups()
    reads = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr == attribute
    ]
    if not reads or not _has_attribute(program, kind, attribute):
        return None
    read = reads[0]
    name = text.written(read.value)
    is_whole = _is_of_whole(program, text, read)
    fixes = tuple(
        Fix("fits", f"`{new}`", (Edit(text.span(read), new),))
        for new in _iter_reads(program, kind, name, attribute, is_whole)
    )
    related = tuple(
        Related(own.span(call), f"a `{kind}` is made here")
        for own in program.own_texts()
        for call in own.nodes
        if isinstance(call, ast.Call) and get_called_name(call) in MAKERS[kind]
    )
    message = _write_message(kind, name, attribute, is_whole)
    return Explanation(message, related[:2], fixes)


def _write_message(kind: str, name: str, attribute: str, is_whole: bool) -> str:
    if kind == "TensorDataset":
        return f"`{name}` is a `TensorDataset`, which has its tensors in `.tensors`"
    inside = f"{name}.datasets" if kind == "ConcatDataset" else f"{name}.dataset"
    message = f"`{name}` is a `{kind}`: `{attribute}` belongs to `{inside}`"
    if kind == "Subset" and not is_whole:
        message += f", of which `{name}.indices` are its samples"
    return message


def _iter_reads(
    program: Program, kind: str, name: str, attribute: str, is_whole: bool
) -> Iterator[str]:
    """Yield the expressions that read the attribute where it is, the likeliest
    first.
    """
    if kind == "TensorDataset":
        at = -1 if TARGETS.search(attribute) else 0
        yield f"{name}.tensors[{at}]"
    elif kind == "DataLoader":
        yield f"{name}.dataset.{attribute}"
        yield f"{name}.dataset.dataset.{attribute}"
    elif kind == "ConcatDataset" and is_whole:
        yield f"{name}.datasets[0].{attribute}"
    elif kind == "ConcatDataset":
        items = f"[item for part in {name}.datasets for item in part.{attribute}]"
        tensors = f"torch.cat([part.{attribute} for part in {name}.datasets])"
        both = [items, tensors]
        yield from both if _is_list(program, attribute) else reversed(both)
    elif is_whole:
        yield f"{name}.dataset.{attribute}"
        yield f"{name}.dataset.dataset.{attribute}"
    else:
        whole = f"{name}.dataset.{attribute}"
        both = [f"[{whole}[i] for i in {name}.indices]", f"{whole}[{name}.indices]"]
        yield from both if _is_list(program, attribute) else reversed(both)
        inner = f"{name}.dataset.dataset.{attribute}"  # a part of a part
        indices = f"[{name}.dataset.indices[i] for i in {name}.indices]"
        both = [f"[{inner}[i] for i in {indices}]", f"{inner}[{indices}]"]
        yield from both if _is_list(program, attribute) else reversed(both)


def _has_attribute(program: Program, kind: str, attribute: str) -> bool:
    """Return whether a data set of the program, or of a library, has the attribute."""
    if kind == "TensorDataset":
        return attribute in OF_LIBRARIES or bool(TARGETS.search(attribute))
    is_own = any(_iter_definitions(program, attribute))
    of_library = any("torchvision" in text.text for text in program.own_texts())
    return is_own or (of_library and attribute in OF_LIBRARIES)


def _iter_definitions(program: Program, attribute: str) -> Iterator[ast.AST]:
    """Yield the values and methods that the program's data sets have by a name."""
    for text in program.own_texts():
        for _, kind in text.definitions():
            methods = getattr(kind, "body", [])
            if not isinstance(kind, ast.ClassDef) or not any(
                getattr(method, "name", "") in ("__getitem__", "__iter__")
                or "Dataset" in "".join(map(get_dotted_name, kind.bases))
                for method in methods
            ):
                continue
            yield from (m for m in methods if getattr(m, "name", "") == attribute)
            for target, value in iter_assignments(kind, annotated=True, unpacked=True):
                is_of_class = isinstance(target, ast.Name) and target.id == attribute
                if is_of_class or get_own_attribute(target) == attribute:
                    yield value


def _is_of_whole(program: Program, text: SourceText, read: ast.Attribute) -> bool:
    """Return whether an attribute is the same for each part of a data set: a method, a
    number, a transform, the names of its classes.
    """
    holder = text.parent(read)
    if isinstance(holder, ast.Call) and holder.func is read:
        return True
    if TARGETS.fullmatch(read.attr) or read.attr in ("targets", "labels"):
        return False
    values = list(_iter_definitions(program, read.attr))
    is_number = any(
        isinstance(value, ast.Constant | ast.Dict | ast.Lambda | ast.FunctionDef)
        or get_called_name(value) in ("len", "int", "Compose", "dict")
        for value in values
    )
    return is_number or OF_WHOLE.search(read.attr) is not None


def _is_list(program: Program, attribute: str) -> bool:
    """Return whether the program's data sets hold a list by that name."""
    values = list(_iter_definitions(program, attribute))
    return any(
        isinstance(value, ast.List | ast.ListComp)
        or get_called_name(value) in LISTS
        or get_last_name(value) in LISTS
        for value in values
    )
