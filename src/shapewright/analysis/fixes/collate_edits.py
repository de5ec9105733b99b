"""Items of a data set that cannot be collated into a batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.batches_of_one import find_batch_size
from shapewright.analysis.fixes.image_sizes import (
    CHANNELS,
    SHAPE,
    has_images_of_sizes,
    suggest_one_side,
    suggest_resize,
)
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.moving_windows import (
    describe_fixed_ends,
    suggest_moving_ends,
)
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.pooled_bags import suggest_single_bags
from shapewright.analysis.fixes.ragged_items import (
    suggest_joined_items,
    suggest_whole_windows,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ITEMS_DO_NOT_STACK
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
    list_parameters,
)

OF_IMAGES = "PIL."
"""In torch's message about items that are images of Pillow."""
NO_TENSORS = "default_collate: batch must contain"
"""How torch's message about items that are no tensors begins."""


def suggest_collate(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest what puts the items of a loader into a batch: the tensor of an image, one
    size of all images, or another `collate_fn`.
    """
    of_items = finding.code == ITEMS_DO_NOT_STACK
    if not of_items and NO_TENSORS not in finding.words:
        return
    for related in [finding.span, *(place_note.span for place_note in finding.related)]:
        text = program.text(related.file) if related is not None else None
        if text is None:
            continue
        loaders = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call)
            and get_called_name(node) == "DataLoader"
            and not any(word.arg == "collate_fn" for word in node.keywords)
        ]
        windows = list(suggest_moving_ends(text)) if of_items else []
        yield from windows
        if windows:
            return  # rows of padding would stand for tokens that were cut off
        data_sets = list(_suggest_data_set(text, loaders)) if of_items else []
        yield from data_sets
        if data_sets:
            return
        bags = list(suggest_single_bags(program, finding)) if of_items else []
        yield from bags
        if bags:
            return  # rows of padding would have a weight
        names = list(_iter_given_functions(text))
        names += [name for name, _ in text.functions() if "collate" in name.lower()]
        unread = [] if names else list(_iter_unread_batchers(text))
        for name in dict.fromkeys(names or unread):
            fixes = [with_keyword(text, n, f"collate_fn={name}") for n in loaders]
            if len(fixes) > 1:
                edits = tuple(edit for fix in fixes for edit in fix.edits)
                calls = "both calls" if len(fixes) == 2 else f"{len(fixes)} calls"
                message = f"`collate_fn={name}` in {calls}"
                yield replace(fixes[0], message=message, edits=edits)
            yield from fixes
        if of_items:
            windows = list(suggest_whole_windows(text))
            yield from windows
            if windows:
                return  # numbers put at the end would be predicted
            yield from _suggest_one_mode(text, finding)
            yield from suggest_one_side(text)
            yield from suggest_resize(program, finding)
            yield from suggest_joined_items(text, loaders, finding)
        elif OF_IMAGES in finding.words:
            yield from suggest_tensors_of_images(text)
        for node in loaders:
            if _has_single_items(node):
                yield with_keyword(text, node, "collate_fn=lambda batch: batch[0]")
        return


def _iter_given_functions(text: SourceText) -> Iterator[str]:
    """Yield the functions that other loaders of a file are given."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "DataLoader":
            for word in node.keywords:
                if word.arg == "collate_fn" and isinstance(word.value, ast.Name):
                    yield word.value.id


def _iter_unread_batchers(text: SourceText) -> Iterator[str]:
    """Yield the functions that nothing reads and that make a batch of their only
    argument: `pad_batch(batch)`.
    """
    for name, function in text.functions():
        parameters = list_parameters(function)
        if len(parameters) != 1 or not OF_ITEMS.fullmatch(parameters[0]):
            continue
        if not _is_read(text, name):
            yield name


OF_ITEMS = re.compile(r"batch|items|samples|examples|data", re.I)
"""How a function that makes a batch calls what it gets."""


def describe_unused_collate(program: Program, finding: Finding) -> Iterator[Related]:
    """Yield the function that a file has for batches and gives to no loader, and the
    loader.
    """
    text = program.text(finding.span.file) if finding.span is not None else None
    if text is None:
        return
    unread = set(_iter_unread_batchers(text))
    for name, function in text.functions():
        is_named = "collate" in name.lower() and not _is_read(text, name)
        if not is_named and name not in unread:
            continue
        if not isinstance(function, ast.FunctionDef):
            continue
        loaders = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call) and get_called_name(node) == "DataLoader"
        ]
        label = f"`{name}` puts items into a batch, and no loader is given it"
        head = text.span(function).start
        name_end = head.column + len("def ") + len(name)
        span = Span(head.file, head.line, head.column, head.line, name_end)
        yield Related(span, label)
        if len(loaders) == 1:
            label = "this loader stacks the items as they are"
            yield Related(text.span(loaders[0]), label)
        return


def explain_uncollated_loader(program: Program, finding: Finding) -> Finding:
    """Return the finding with the loader of the loop that fails, where that has no
    `collate_fn` and another loader of the file has one.
    """
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return finding
    ends = tuple(describe_fixed_ends(text))
    if ends:
        return replace(finding, related=(*ends, *finding.related))
    loaders = {
        get_dotted_name(target): value
        for target, value in iter_assignments(text.tree, unpacked=True)
        if get_called_name(value) == "DataLoader" and isinstance(value, ast.Call)
    }
    others = [name for name, loader in loaders.items() if _has_collate(loader)]
    names = list(_iter_loader_names(text, span.line))
    bare = [n for n in names if n in loaders and not _has_collate(loaders[n])]
    if not others or len(set(bare)) != 1 or not others[0] or not bare[0]:
        return finding
    words = f"`{bare[0]}` has no `collate_fn`, which `{others[0]}` has"
    places = (
        Related(text.span(loaders[bare[0]]), f"`{bare[0]}` is given no `collate_fn`"),
        Related(text.span(loaders[others[0]]), f"`{others[0]}` is given one"),
    )
    message = f"{finding.message}: {words}"
    return replace(finding, message=message, related=(*places, *finding.related))


def _has_collate(loader: ast.Call) -> bool:
    """Return whether a loader is given a function for its batches, or arguments that
    the text does not show.
    """
    return any(word.arg in ("collate_fn", None) for word in loader.keywords)


def _iter_loader_names(text: SourceText, line: int) -> Iterator[str]:
    """Yield the names that a line reads its batches of, and what the callers of its
    function give for them.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Name | ast.Attribute) or node.lineno != line:
            continue
        name = get_dotted_name(node)
        if name and isinstance(node.ctx, ast.Load):
            yield name
            for value in find_defining(text, name.rpartition(".")[2]):
                yield get_dotted_name(value)


def _is_read(text: SourceText, name: str) -> bool:
    """Return whether an expression of a file reads a name."""
    return any(isinstance(n, ast.Name) and n.id == name for n in text.nodes) or any(
        isinstance(n, ast.Attribute) and n.attr == name for n in text.nodes
    )


def _suggest_data_set(text: SourceText, loaders: list[ast.Call]) -> Iterator[Fix]:
    """Suggest `TensorDataset(X, y)` for `[X, y]`, whose items are the whole tensors."""
    for loader in loaders:
        data = loader.args[0] if loader.args else None
        parts = data.elts if isinstance(data, ast.List | ast.Tuple) else []
        if data is None or len(parts) < 2:
            continue
        if not all(isinstance(part, ast.Name | ast.Attribute) for part in parts):
            continue
        is_known = any(
            isinstance(node, ast.ImportFrom)
            and any(alias.name == "TensorDataset" for alias in node.names)
            for node in text.nodes
        )
        name = "TensorDataset" if is_known else "torch.utils.data.TensorDataset"
        new = f"{name}({', '.join(map(text.written, parts))})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(data), new),))


OF_DICTS = re.compile(r"\['\w+'\]")
"""A key of an item, in the message about items that do not stack."""


def suggest_single_items(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `batch_size=1` for loaders of dicts with lists of their own lengths."""
    text = program.text(finding.span.file) if finding.span is not None else None
    if text is None or not OF_DICTS.search(finding.message):
        return
    if has_images_of_sizes(finding) or _has_other_channels(finding):
        return
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "DataLoader":
            continue
        number = find_batch_size(text, node)
        if number is None or any(word.arg == "collate_fn" for word in node.keywords):
            continue
        yield Fix("fits", "`batch_size=1`", (Edit(text.span(number), "1"),))


def _suggest_one_mode(text: SourceText, finding: Finding) -> Iterator[Fix]:
    """Suggest `Image.open(file).convert("RGB")`, where some pictures are grey or have
    an alpha channel.
    """
    if not _has_other_channels(finding):
        return
    yield from _suggest_mode_of_field(text, finding)
    for node in text.nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if ast.unparse(node.func) not in ("Image.open", "PIL.Image.open"):
            continue
        outer = text.parent(node)
        if isinstance(outer, ast.Attribute) and outer.attr == "convert":
            continue
        yield append_method(text, node, '.convert("RGB")')


def _has_other_channels(finding: Finding) -> bool:
    """Return whether two items are images of one size and of other channels."""
    written = SHAPE.findall(finding.message)
    shapes = [tuple(map(int, numbers.split(", "))) for numbers in written]
    if len(shapes) != 2 or {len(shape) for shape in shapes} != {3}:
        return False
    channels = {shape[0] for shape in shapes}
    return shapes[0][1:] == shapes[1][1:] and channels <= set(CHANNELS)


def _suggest_mode_of_field(text: SourceText, finding: Finding) -> Iterator[Fix]:
    """Suggest `transform(annotation.convert("L"))` where an item gets a mask."""
    field = OF_DICTS.search(finding.message)
    name = field[0].strip("[']") if field is not None else ""
    for _, function in text.functions("__getitem__") if name else ():
        for target, value in iter_assignments(function):
            if get_dotted_name(target) != name or not isinstance(value, ast.Call):
                continue
            if len(value.args) == 1 and isinstance(value.args[0], ast.Name):
                mode = "L" if OF_MASKS.search(name) else "RGB"
                yield append_method(text, value.args[0], f'.convert("{mode}")')


OF_MASKS = re.compile(r"mask|label|target|(^|_)(gt|seg|depth|annotation)(_|$)", re.I)
"""How a field is called whose images have one channel."""


def suggest_tensors_of_images(text: SourceText) -> Iterator[Fix]:
    """Suggest the transform that makes a tensor of an image: where a data set is built
    without one, else behind those of a list.
    """
    maker = find_maker_of_tensors(text)
    if not maker:
        return
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        name = get_called_name(node)
        if name == "Compose" and node.args and isinstance(node.args[0], ast.List):
            steps = node.args[0].elts
            if steps and not any("ToTensor" in text.written(step) for step in steps):
                last = text.written(steps[-1])
                edit = Edit(text.span(steps[-1]), f"{last}, {maker}")
                yield Fix("fits", f"`{maker}` behind `{last}`", (edit,))
            continue
        has_own = any(word.arg == "transform" for word in node.keywords)
        if not has_own and _has_transform(text, name, len(node.args)):
            yield with_keyword(text, node, f"transform={maker}")


def find_maker_of_tensors(text: SourceText) -> str:
    """Return how the program would write `ToTensor()`, or nothing if it imports no
    transforms.
    """
    for node in text.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", "") or ""
            for alias in node.names:
                known = alias.asname or alias.name
                if alias.name == "ToTensor":
                    return f"{known}()"
                if f"{module}.{alias.name}".endswith("torchvision.transforms"):
                    return f"{known}.ToTensor()"
                if alias.name == "torchvision.transforms":
                    return f"{known}.ToTensor()"
                if alias.name == "torchvision":
                    return f"{known}.transforms.ToTensor()"
    return ""


def _has_transform(text: SourceText, name: str, passed: int) -> bool:
    """Return whether a class of the program takes a `transform` that a call with some
    positional arguments does not give, or is a data set of torchvision.
    """
    for own, node in text.functions("__init__"):
        if own.split(".")[-2:-1] != [name]:
            continue
        names = [argument.arg for argument in node.args.args]
        return "transform" in names[passed + 1 :]
    defined = any(isinstance(n, ast.ClassDef) and n.name == name for n in text.nodes)
    return name in OF_TORCHVISION and not defined


OF_TORCHVISION = frozenset({
    "CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "KMNIST", "EMNIST", "SVHN", "STL10",
    "ImageFolder", "DatasetFolder", "CelebA", "FakeData", "ImageNet", "Flowers102",
    "OxfordIIITPet", "Food101", "GTSRB", "USPS", "Caltech101", "LFWPeople",
})  # fmt: skip
"""Data sets of torchvision whose items are images."""


def _has_single_items(node: ast.Call) -> bool:
    """Return whether a loader puts one item in a batch."""
    sizes = [word.value for word in node.keywords if word.arg == "batch_size"]
    sizes += node.args[1:2]
    if not sizes:
        return not any(get_last_name(word.value) for word in node.keywords
                       if word.arg in (None, "batch_sampler"))  # fmt: skip
    return evaluate_whole_number(sizes[0]) == 1
