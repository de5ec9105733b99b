"""Words that a call does not know: `anneal_strategy="cosine"` where torch says `"cos"`,
with the nearest of those that the message lists.
"""

from __future__ import annotations

import ast
import difflib
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

CHOICE = re.compile(
    r"(?:must|should|has to|can|expected)\b.{0,40}? be (?:one of|either|in\b|'|\w+/\w+)"
    r"|use one of|[Ss]elect from|[Cc]hoose (?:from|between)|[Oo]nly .* supported"
    r"|valid (?:values|options|modes|choices) are"
)
"""Words of a message that lists what an argument may be."""
UNLISTED = (
    (re.compile(r"(\S+) is not a valid value for reduction"), ("mean", "sum", "none")),
    (re.compile(r"\bthreshold mode (\S+) is unknown!"), ("rel", "abs")),
    (re.compile(r"\bmode (\S+) is unknown!"), ("min", "max")),
)
"""Messages that name the word alone, and what the argument may be."""
QUOTED = re.compile(r"(?<!\w)(['\"])([\w. -]{1,40})\1(?!\w)")
BESIDE = re.compile(r"\b(\w+(?:/\w+)+)\b")
"""Words as in `relu/gelu`."""
DEVICE = re.compile(
    r"device type at start of device string: (\S+)|Invalid device string: '([^']*)'"
)
OF_GPU = re.compile(r"(?:gpu|cuda)[ :_-]*(\d*)", re.IGNORECASE)
"""How a GPU is named by mistake: `gpu`, `cuda0`, `GPU:1`."""
OF_TEXTS = re.compile(
    r"^(?:print|format|info|debug|warning|log|startswith|join|split)$"
)
"""Calls whose texts are shown or compared, and name no device."""
MEANT = {"avg": "mean", "average": "mean", "total": "sum", "lower": "min"}
"""Words that are often written for another one."""
NEAR = 0.6
"""The least likeness of two words of which one is taken for the other."""


def find_refused_choice(program: Program, finding: Finding) -> Explanation | None:
    """Return which word a call refused, and the nearest word that it takes, or None."""
    words, place = finding.words, program.node(finding.span)
    refused = DEVICE.search(words)
    if refused is not None:
        return _explain_device(program, refused[1] or refused[2])
    if place is None or finding.span is None:
        return None
    listed = _list_choices(words)
    if not listed:
        return None
    constants = [
        (place[0], part)
        for part in ast.walk(place[1])
        if isinstance(part, ast.Constant) and _is_refused(part, words)
    ]
    if not constants:
        constants = [
            (own, part)
            for own in program.own_texts()
            for part in own.nodes
            if isinstance(part, ast.Constant)
            and _is_refused(part, words)
            and not isinstance(own.parent(part), ast.Expr | ast.Compare)
        ]
    if len(constants) != 1:
        return None
    text, constant = constants[0]
    refused_word = str(constant.value)
    allowed = [word for word in listed if word != refused_word]
    nearest = _get_nearest(refused_word, allowed)
    if nearest is None:
        return None
    return _explain_choice(text, constant, allowed, nearest, finding)


def _explain_device(program: Program, refused: str) -> Explanation | None:
    """Explain `torch.device("gpu")`, with `"cuda"` wherever the text stands."""
    edits: list[Edit] = []
    new = ""
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            device = OF_GPU.fullmatch(node.value.strip())
            is_same = node.value == refused or node.value.partition(":")[0] == refused
            if device is None or not is_same or not _is_of_device(text, node):
                continue
            quote = text.written(node)[-1]
            number = f":{int(device[1])}" if device[1] else ""
            new = f"{quote}cuda{number}{quote}"
            if not _is_of_choice(text, node):
                new += f" if torch.cuda.is_available() else {quote}cpu{quote}"
            edits.append(Edit(text.span(node), new))
    message = (
        f'torch knows no device `"{refused}"`: a GPU is `"cuda"`, or `"cuda:0"` with'
        " its number"
    )
    if not edits:
        return Explanation(message) if OF_GPU.fullmatch(refused.strip()) else None
    related = (Related(edits[0].span, "the device is named here"),)
    return Explanation(message, related, (Fix("fits", f"`{new}`", tuple(edits)),))


def _is_of_choice(text: SourceText, node: ast.Constant) -> bool:
    """Return whether a text is one of several, or taken only where there is a GPU."""
    parent = text.parent(node)
    if isinstance(parent, ast.Compare | ast.List | ast.Tuple | ast.Set | ast.IfExp):
        return True
    if re.search(r"^import torch\b(?! as)", text.text, re.MULTILINE) is None:
        return True
    return any(
        "is_available" in text.written(around.test)
        for around in text.outwards(node)
        if isinstance(around, ast.If | ast.IfExp)
    )


def _is_of_device(text: SourceText, node: ast.Constant) -> bool:
    """Return whether a text is handed on as a device, and is no key and no output."""
    around = text.parent(node)
    if isinstance(around, ast.Call):
        return OF_TEXTS.search(get_called_name(around)) is None
    if isinstance(around, ast.Dict):
        return node in around.values
    return not isinstance(around, ast.Expr | ast.Subscript | ast.JoinedStr)


def _explain_choice(
    text: SourceText,
    constant: ast.Constant,
    allowed: list[str],
    nearest: str,
    finding: Finding,
) -> Explanation:
    """Explain a word that is not known, with the word that is meant."""
    written = text.written(constant)
    quote = written[-1]
    new = f"{quote}{nearest}{quote}"
    around = text.parent(constant)
    name = around.arg if isinstance(around, ast.keyword) and around.arg else ""
    shown = f"{name}={new}" if name else new
    others = " or ".join(f"`{quote}{word}{quote}`" for word in allowed)
    refused = f"{name}={written}" if name else written
    message = f"`{refused}` is not known here: it may be {others}"
    span = text.span(constant)
    outside = finding.span is None or not (
        finding.span.file == span.file
        and finding.span.line <= span.line <= finding.span.end_line
    )
    related = (Related(span, f"`{written}` is written here"),) if outside else ()
    fix = Fix("fits", f"`{shown}`", (Edit(span, new),))
    return Explanation(message, related, (fix,))


def _list_choices(words: str) -> list[str]:
    """Return the words that a message lists, with the one that was refused."""
    for pattern, choices in UNLISTED:
        if pattern.search(words):
            return list(choices)
    if not CHOICE.search(words):
        return []
    listed = [match[2] for match in QUOTED.finditer(words)]
    for match in BESIDE.finditer(words):
        listed += match[1].split("/")
    return list(dict.fromkeys(listed))


def _is_named(words: str, refused_word: str) -> bool:
    """Return whether a message names a word as what was refused, not as a choice."""
    word = re.escape(refused_word)
    after = re.search(
        rf"\b(?:got|not|instead|found|received|given)\b[^'\"]{{0,40}}['\"]?{word}\b",
        words,
    )
    before = re.search(
        rf"{word}['\"]?,? (?:is|not|was|should|must|in\b)|(?:Invalid|Unknown|unknown"
        rf"|Unsupported|[Mm]ode)\b[^'\"]{{0,30}}['\"]?{word}\b",
        words,
    )
    return after is not None or before is not None


def _is_refused(part: ast.Constant, words: str) -> bool:
    """Return whether a node is a text that a message names."""
    value = part.value
    if not isinstance(value, str) or not re.fullmatch(r"[\w. -]{1,40}", value):
        return False
    is_there = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", words) is not None
    return is_there and _is_named(words, value)


def _get_nearest(refused_word: str, allowed: list[str]) -> str | None:
    """Return the word that another one is most likely meant for, or None."""
    plain = {_strip_word(word): word for word in allowed}
    low = _strip_word(refused_word)
    if low in plain:
        return plain[low]
    if MEANT.get(low) in allowed:
        return MEANT[low]
    heads = [
        word
        for short, word in plain.items()
        if short and (low.startswith(short) or (low and short.startswith(low)))
    ]
    if len(heads) == 1:
        return heads[0]
    near = difflib.get_close_matches(low, plain, n=2, cutoff=NEAR)
    return plain[near[0]] if near else None


def _strip_word(word: str) -> str:
    """Return a word without what is often written otherwise."""
    return re.sub(r"[\W_]", "", word).lower()
