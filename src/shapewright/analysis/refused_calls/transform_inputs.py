"""Transforms of torchvision that get what they do not take: `ToTensor` of a tensor, a
crop of a smaller picture, a `Compose` of a picture and its mask.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.whole_numbers import find_whole_number
from shapewright.findings.codes import IN_PLACE_TOO_SMALL
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

OF_TENSOR = re.compile(r"pic should be PIL Image or ndarray.*torch\.\w*Tensor")
OF_PICTURE = re.compile(r"pic should be Tensor or ndarray.*PIL")
NO_TENSOR = re.compile(r"img should be Tensor Image\. Got <class 'PIL\.")
OF_ARRAY = re.compile(
    r"(?:Unexpected type|should be PIL Image(?: or Tensor)?\. Got)"
    r" <class 'numpy\.ndarray'>"
)
TOO_LARGE = re.compile(
    r"[Cc]rop size \((\d+), (\d+)\) is larger than (?:padded )?input image size"
    r" \((\d+), (\d+)\)"
)
TOO_MANY = re.compile(
    r"(Compose)\.__call__\(\) takes 2 positional arguments but 3 were given"
)
OF_FLOATS = re.compile(r"Input tensor should be a float tensor. Got torch.uint8")
CROPS = frozenset({"RandomCrop"})
RANDOM = re.compile(r"^Random|^ColorJitter|^GaussianBlur|^TrivialAugment|^AutoAugment")
OF_VALUES = frozenset({"Normalize", "Grayscale"})


def find_transform_input(program: Program, finding: Finding) -> Explanation | None:
    """Return which transform gets what it does not take, or None."""
    words = finding.words
    if OF_TENSOR.search(words):
        return _explain_made(program, finding, ("ToTensor", "to_tensor"), "tensor")
    if OF_PICTURE.search(words):
        pictures = ("ToPILImage", "to_pil_image")
        return _explain_made(program, finding, pictures, "picture")
    if NO_TENSOR.search(words):
        return _explain_unmade(program)
    if OF_ARRAY.search(words):
        return _explain_array(program, finding)
    if OF_FLOATS.search(words):
        return _explain_whole_numbers(program) or find_whole_number(program, finding)
    crop = TOO_LARGE.search(words)
    if crop is not None:
        return _explain_crop(program, crop)
    if TOO_MANY.search(words):
        return _explain_pair(program, finding)
    return None


def explain_normalized_channels(
    program: Program, finding: Finding, failure: Failure
) -> Finding:
    """Return the finding with the channels of an image and the means of a `Normalize`,
    where it has more of them.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    call = program.call_of(op)
    if unmet is None or call is None or call.class_name != "Normalize":
        return finding
    shapes = [fact.shape for fact in op.inputs[:2]]
    if unmet.code != IN_PLACE_TOO_SMALL or len(shapes) < 2 or len(shapes[0]) < 3:
        return finding
    image, means = shapes
    if image[-3] != 1 or means[-3:] != (means[0], 1, 1):
        return finding
    message = f"`Normalize` has a mean for each of {means[0]} channels, and the image"
    return replace(finding, message=f"{message} {image} is grey: it has 1")


# -- tensors that are made tensors -----------------------------------------------------


def _explain_made(
    program: Program, finding: Finding, names: tuple[str, str], what: str
) -> Explanation | None:
    """Explain `ToTensor()` of what is a tensor already."""
    message = f"`{names[0]}` makes a {what}, and gets one: it is a {what} already"
    place = program.call_at(finding.span)
    if place is not None and get_called_name(place[1]) == names[1] and place[1].args:
        text, call = place
        new = text.written(call.args[0])
        fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))
        return Explanation(message, (), (fix,))
    items = list(_iter_items(program, names[0]))
    later = [item for item in items if item[3]]
    related: list[Related] = []
    cut: list[Edit] = []
    scaled: list[Edit] = []
    for text, calls, at, _ in later or items:
        span = text.span(calls[at])
        related.append(Related(span, f"`{names[0]}` is here"))
        cut.append(_cut_item(text, calls, at))
        new = _write_scaling(text, calls[at])
        scaled += [Edit(span, new)] if new else []
    if not cut:
        return None
    fixes = [Fix("fits", f"no `{names[0]}`", tuple(cut))]
    if names[0] == "ToTensor" and scaled and not later:
        fix = Fix("fits", f"`{scaled[0].text}`", tuple(scaled))
        is_of_bytes = any("uint8" in own.text for own in program.own_texts())
        fixes = [fix, *fixes] if is_of_bytes else [*fixes, fix]
    return Explanation(message, tuple(related[:2]), tuple(fixes))


def _explain_unmade(program: Program) -> Explanation | None:
    """Explain `Normalize` of a picture, where no transform makes a tensor of it."""
    related: list[Related] = []
    edits: list[Edit] = []
    shown = ""
    for text, calls, at, _ in _iter_items(program, "Normalize"):
        if {get_called_name(call) for call in calls} & MAKING:
            continue
        owner = text.written(calls[at]).partition("Normalize(")[0]
        shown = shown or f"{owner}ToTensor()"
        span = text.span(calls[at])
        related.append(Related(span, "`Normalize` is here"))
        edits.append(Edit(span.start, f"{owner}ToTensor(), "))
    if not edits:
        return None
    message = "`Normalize` takes a tensor, and gets a picture: nothing makes a tensor"
    fix = Fix("fits", f"`{shown}` in front of `Normalize`", tuple(edits))
    return Explanation(f"{message} of it", tuple(related[:2]), (fix,))


MAKING = frozenset({"ToTensor", "PILToTensor", "ToImage", "Lambda"})
"""Transforms that make tensors of pictures."""


def _explain_array(program: Program, finding: Finding) -> Explanation | None:
    """Explain an array where a transform takes a picture or a tensor."""
    place = program.call_at(finding.span)
    if place is None or not place[1].args:
        return None
    text, call = place
    value = call.args[0]
    if isinstance(value, ast.Starred) or isinstance(text.parent(call), ast.Raise):
        return None
    written = text.written(value)
    message = (
        f"`{text.line_of(call.func)}` takes a PIL picture or a tensor, and"
        f" `{join_lines(written)}` is an array"
    )
    fixes = []
    for name, owner in _list_openers(text):
        new = f"{owner}({written})"
        edits = [Edit(text.span(value), new)]
        if not name:
            first = next(n for n in text.nodes if isinstance(n, ast.stmt))
            imports = [n for n in text.nodes if isinstance(n, IMPORTS)]
            later = [n for n in imports if getattr(n, "module", "") != "__future__"]
            line = "from PIL import Image"
            edits.append(write_before(text, next(iter([*later, first])), line))
        fixes.append(Fix("fits", f"`{join_lines(new)}`", tuple(edits)))
    return Explanation(message, (), tuple(fixes))


IMPORTS = (ast.Import, ast.ImportFrom)


def _list_openers(text: SourceText) -> list[tuple[str, str]]:
    """Return how a file imports PIL's `Image`, or nothing, and how a picture is made of
    an array by that name.
    """
    for node in text.nodes:
        module = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names if isinstance(node, IMPORTS) else ():
            full = f"{module}.{alias.name}" if module else alias.name
            name = alias.asname or alias.name
            if full == "PIL.Image":
                return [(name, f"{name}.fromarray")]
    return [("", "Image.fromarray")]


def _iter_items(
    program: Program, name: str
) -> Iterator[tuple[SourceText, list[ast.expr], int, bool]]:
    """Yield the lists with a transform, its place, and whether it is there twice."""
    for text in program.own_texts():
        for node in text.nodes:
            items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
            at = [k for k, item in enumerate(items) if get_called_name(item) == name]
            if at:
                yield text, items, at[-1], len(at) > 1


def _write_scaling(text: SourceText, call: ast.expr) -> str:
    """Return the transform that makes numbers of 0 to 1 of bytes, or nothing."""
    written = get_dotted_name(getattr(call, "func", None))
    owner, dot, _ = written.rpartition(".")
    is_torch = any(
        isinstance(node, ast.Import) and any(a.name == "torch" for a in node.names)
        for node in text.nodes
    )
    if not dot or not is_torch:
        return ""
    return f"{owner}.ConvertImageDtype(torch.float32)"


def _cut_item(text: SourceText, items: list[ast.expr], at: int) -> Edit:
    """Return the edit that removes an item of a list."""
    here = text.span(items[at])
    if at + 1 < len(items):
        after = text.span(items[at + 1]).start
        return Edit(here.start.until(after), "")
    if at:
        return Edit(text.span(items[at - 1]).end.until(here.end), "")
    return Edit(here, "")


# -- crops that are larger than a picture ----------------------------------------------


def _explain_crop(program: Program, crop: re.Match[str]) -> Explanation | None:
    """Explain a crop of a picture that a `Resize` before it made smaller, or that was
    smaller.
    """
    height, width, *sizes = (int(number) for number in crop.groups())
    message = (
        f"the crop takes {height} x {width} pixels of a picture that has"
        f" {sizes[0]} x {sizes[1]}"
    )
    related: list[Related] = []
    fixes: list[Fix] = []
    for text, before, call in _iter_crops(program):
        size = _get_size(call)
        if size is None:
            continue
        resized = [item for item in before if get_called_name(item) == "Resize"]
        old = _get_size(resized[-1]) if resized else None
        if old is not None and text.written(old) != text.written(size):
            related.append(Related(text.span(resized[-1]), "it is resized here"))
            new = text.written(size)
            is_pair = isinstance(old, ast.Tuple | ast.List)
            if is_pair and not isinstance(size, ast.Tuple | ast.List):
                new = f"({new}, {new})"
            name = get_dotted_name(getattr(resized[-1], "func", None))
            written = f"{name}({join_lines(new)})"
            fixes.append(Fix("fits", f"`{written}`", (Edit(text.span(old), new),)))
        elif not resized and all(word.arg != "pad_if_needed" for word in call.keywords):
            fixes.append(with_keyword(text, call, "pad_if_needed=True"))
        related.append(Related(text.span(call), "the crop is here"))
    return Explanation(message, tuple(related), tuple(fixes)) if related else None


def _iter_crops(
    program: Program,
) -> Iterator[tuple[SourceText, list[ast.expr], ast.Call]]:
    """Yield the crops of a program, each with the transforms before it."""
    for text in program.own_texts():
        for call in text.nodes:
            if isinstance(call, ast.Call) and get_called_name(call) in CROPS:
                items = getattr(text.parent(call), "elts", [call])
                yield text, items[: items.index(call)], call


def _get_size(call: ast.expr) -> ast.expr | None:
    """Return the size that a transform is given, or None."""
    if not isinstance(call, ast.Call):
        return None
    named = [word.value for word in call.keywords if word.arg == "size"]
    return next(iter([*call.args[:1], *named]), None)


# -- a picture and its mask ------------------------------------------------------------


def _explain_pair(program: Program, finding: Finding) -> Explanation | None:
    """Explain a `Compose` that is given a picture and its mask at once."""
    place = program.call_at(finding.span)
    if place is None or len(place[1].args) != 2 or place[1].keywords:
        return None
    text, call = place
    name = text.written(call.func)
    message = (
        f"`{name}` is a `Compose` of `torchvision.transforms`, which takes one picture:"
        " those of `torchvision.transforms.v2` take a picture and its mask"
    )
    composed = [
        get_called_name(item)
        for own in program.own_texts()
        for node in own.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "Compose"
        for items in node.args[:1]
        for item in getattr(items, "elts", ())
    ]
    if any(RANDOM.search(item) or item in OF_VALUES for item in composed):
        return Explanation(message)  # a mask is moved alike, and keeps its values
    if not get_dotted_name(call.func) or not composed:
        return Explanation(message)
    new = ", ".join(f"{name}({text.written(part)})" for part in call.args)
    is_plain = isinstance(text.parent(call), ast.Assign | ast.Return)
    edit = Edit(text.span(call), new if is_plain else f"({new})")
    return Explanation(message, (), (Fix("fits", f"`{new}`", (edit,)),))


def _explain_whole_numbers(program: Program) -> Explanation | None:
    """Return which `Normalize` gets whole numbers, and the conversion before it."""
    edits: list[Edit] = []
    where: list[Related] = []
    for text in program.own_texts():
        if re.search(r"ToDtype\(|ConvertImageDtype\(", text.text):
            continue
        for node in text.nodes:
            if get_called_name(node) != "Normalize" or not isinstance(node, ast.Call):
                continue
            owner = text.written(node.func).removesuffix("Normalize")
            if not isinstance(text.parent(node), ast.List):
                continue
            is_new = "v2" in owner or "torchvision.transforms.v2" in text.text
            name = "ToDtype(torch.float32, scale=True)"
            new = name if is_new else "ConvertImageDtype(torch.float32)"
            begin = text.span(node)
            there = Span(begin.file, begin.line, begin.column, begin.line, begin.column)
            edits.append(Edit(there, f"{owner}{new}, "))
            where.append(Related(begin, "it gets whole numbers here"))
    if not edits:
        return None
    message = (
        "`Normalize` takes floats, and the images are whole numbers up to 255 still:"
        " nothing before it converts them"
    )
    shown = edits[0].text.strip(", ")
    more = f", and {len(edits) - 1} more" if len(edits) > 1 else ""
    fix = Fix("fits", f"`{shown}` before `Normalize`{more}", tuple(edits))
    return Explanation(message, tuple(where[:2]), (fix,))
