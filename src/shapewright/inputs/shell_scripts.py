"""Read the commands of a shell script, and run none of them.

Variables, defaults (``${NGPU:-8}``), tests of variables, continued lines and ``"$@"``
are followed; of a `for` loop the first turn. What another program would answer
(``$(nproc)``) is left empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

NAME = re.compile(r"[A-Za-z_]\w*")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
BRACED = re.compile(r"\$\{([A-Za-z_]\w*|[@*#\d])(?:(:?[-=+?])(.*?))?\}", re.S)
BARE = re.compile(r"\$([A-Za-z_]\w*|[@*#\d])")
ASKED = re.compile(r"\$\([^()]*\)|`[^`]*`")
PIECE = re.compile(
    r"""\s+|(?<!\S)\#.*|(?:\d?>>?|&>>?|<<?<?)&?\s*[^\s;|&]*|(?P<between>&&|\|\||;;|[;&|])
    |(?P<word>(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|\$\([^()]*\)|\$\{[^}]*\}
    |[^\s"'\\;&|<>])+)""",
    re.X | re.S,
)
"""Blanks, a comment, a redirection, what stands between commands, or a word."""
SEPARATORS = frozenset({";", ";;", "&", "&&", "||", "|"})
EVERYTHING = frozenset({"@", "*"})


class _Branch(Enum):
    """A branch of an `if`: it runs, no branch ran yet, or one ran before."""

    RUNS = "runs"
    WAITS = "waits"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class _ShellCommand:
    """A command of a shell script: its line, its words, and what it exports."""

    line: int
    words: tuple[str, ...]
    environment: Mapping[str, str]


def read_commands(
    text: str, arguments: Sequence[str] = (), environment: Mapping[str, str] = {}
) -> Iterator[_ShellCommand]:
    """Yield the commands of a shell script that its tests let run, in their order.

    Example: of ``N=2\\ntorchrun --nproc_per_node=$N train.py "$@"`` with the argument
    ``--lr=1`` the words ``torchrun --nproc_per_node=2 train.py --lr=1``.
    """
    values = dict(environment)
    exported: dict[str, str] = {}
    runs = [_Branch.RUNS]
    for line, words in _split_lines(text):
        if _follow_branch(words, runs, values, arguments):
            continue
        if any(branch is not _Branch.RUNS for branch in runs):
            continue
        if words[0] in ("exit", "return"):
            return
        while words and words[0] in ("export", "declare", "readonly", "local", "set"):
            for word in words[1:]:
                name, _, value = word.partition("=")
                if NAME.fullmatch(name) and "=" in word:
                    values[name] = " ".join(_expand_word(value, values, arguments))
                if name in values and words[0] == "export":
                    exported[name] = values[name]
            words = []
        own = dict(exported)
        while words and (match := ASSIGNED.fullmatch(words[0])):
            value = " ".join(_expand_word(match[2], values, arguments))
            own[match[1]] = value
            if len(words) == 1:
                values[match[1]] = value
            words = words[1:]
        expanded = [
            part for word in words for part in _expand_word(word, values, arguments)
        ]
        if expanded:
            yield _ShellCommand(line, tuple(expanded), own)


def _split_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each simple command as words, their quotes kept, with its line."""
    joined, begin = "", 1
    for at, row in enumerate(text.splitlines(), 1):
        if not joined:
            begin = at
        joined += row
        if row.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        pieces = _split_words(joined)
        if pieces is None:  # a quote that goes on in the next line
            joined += "\n"
            continue
        joined = ""
        command: list[str] = []
        for piece in pieces:
            if piece not in SEPARATORS:
                command.append(piece)
            elif command:
                yield begin, command
                command = []
        if command:
            yield begin, command


def _split_words(line: str) -> list[str] | None:
    """Return the words and separators of a line, or None if a quote is open."""
    words: list[str] = []
    at = 0
    while (match := PIECE.match(line, at)) is not None and match.end() > at:
        at = match.end()
        if match["word"] or match["between"]:
            words.append(match["word"] or match["between"])
    return words if at == len(line) else None


def _follow_branch(
    words: list[str],
    runs: list[_Branch],
    values: dict[str, str],
    arguments: Sequence[str],
) -> bool:
    """Follow `if`, `else`, `fi` and loops; return whether the words are done with.

    What stands behind `then`, `else` and `do` on the same line is left in `words`.
    """
    first = words[0]
    if first in ("if", "elif"):
        holds = _evaluate_test(words[1:], values, arguments)
        if first == "if":
            runs.append(_Branch.RUNS if holds else _Branch.WAITS)
        elif len(runs) > 1:
            runs[-1] = _take_next(runs[-1], holds)
        return True
    if first == "else" and len(runs) > 1:
        runs[-1] = _take_next(runs[-1], True)
    if first in ("fi", "done", "}", "esac"):
        if first == "fi" and len(runs) > 1:
            runs.pop()
        return True
    if first == "for" and len(words) > 3 and words[2] == "in":
        items = [
            item for word in words[3:] for item in _expand_word(word, values, arguments)
        ]
        values[words[1]] = items[0] if items else ""
        return True
    if first in ("while", "until", "case", "function"):
        return True
    if first in ("then", "else", "do", "{"):
        del words[0]
    return not words


def _take_next(before: _Branch, holds: bool) -> _Branch:
    """Return what the next branch of an `if` does, after that of the branch before."""
    if before is not _Branch.WAITS:
        return _Branch.DONE
    return _Branch.RUNS if holds else _Branch.WAITS


def _evaluate_test(
    words: list[str], values: Mapping[str, str], arguments: Sequence[str]
) -> bool:
    """Return whether ``[ -n "$X" ]`` or ``[ "$X" = y ]`` holds; a test of another kind
    does not.
    """
    plain = [" ".join(_expand_word(word, values, arguments)) for word in words]
    plain = [word for word in plain if word not in ("[", "]", "[[", "]]", "test")]
    if words and words[0] not in ("[", "[[", "test"):
        return False
    match plain:
        case ["!", *rest]:
            return not _evaluate_test(["[", *rest, "]"], values, arguments)
        case ["-n", text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case [left, "=" | "==" | "-eq", right]:
            return left == right
        case [left, "!=" | "-ne", right]:
            return left != right
        case [left, "-gt" | "-ge" | "-lt" | "-le" as how, right]:
            if left.isdigit() and right.isdigit():
                a, b = int(left), int(right)
                return {"-gt": a > b, "-ge": a >= b, "-lt": a < b, "-le": a <= b}[how]
    return False


def _expand_word(
    word: str, values: Mapping[str, str], arguments: Sequence[str]
) -> list[str]:
    """Return what a word stands for: several words for ``"$@"`` and unquoted lists."""
    if word.strip('"') in ("$@", "${@}", "$*", "${*}", "${@:1}"):
        return list(arguments)
    if word[:1] == "'" and word[-1:] == "'" and len(word) > 1:
        return [word[1:-1]]
    quoted = '"' in word
    text = ASKED.sub("", word)

    def read(name: str) -> str:
        if name.isdigit():
            return arguments[int(name) - 1] if 0 < int(name) <= len(arguments) else ""
        if name in EVERYTHING:
            return " ".join(arguments)
        return str(len(arguments)) if name == "#" else values.get(name, "")

    def fill(match: re.Match[str]) -> str:
        value, how, other = read(match[1]), match[2] or "", match[3] or ""
        if how[-1:] in ("-", "="):
            return value or " ".join(_expand_word(other, values, arguments))
        if how[-1:] == "+":
            return " ".join(_expand_word(other, values, arguments)) if value else ""
        return value

    before = text
    text = BARE.sub(lambda match: read(match[1]), BRACED.sub(fill, text))
    bare = text.replace('"', "").replace("'", "")
    if quoted:
        return [bare]
    return bare.split() if text != before else ([bare] if bare else [])
