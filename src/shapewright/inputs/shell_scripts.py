"""Read the commands of a shell script, and run none of them.

Variables, defaults (``${NGPU:-8}``), tests of variables, continued lines and ``"$@"``
are followed; of a `for` loop the first turn. What another program would answer
(``$(nproc)``) is left empty.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

NAME = re.compile(r"[A-Za-z_]\w*")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
BRACED = re.compile(r"\$\{([A-Za-z_]\w*|[@*#\d])(?:(:?[-=+?])(.*?))?\}", re.S)
BARE = re.compile(r"\$([A-Za-z_]\w*|[@*#\d])")
ASKED = re.compile(r"\$\([^()]*\)|`[^`]*`")
REDIRECTED = re.compile(r"\d?>>?&?\d?|&>>?|<")
SEPARATORS = frozenset({";", "&", "&&", "||", "|"})
EVERYTHING = frozenset({"@", "*"})


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
    runs = [True]
    for line, words in _split_lines(text):
        if _follow_branch(words, runs, values, arguments):
            continue
        if not all(runs):
            continue
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
        said = [
            each for word in words for each in _expand_word(word, values, arguments)
        ]
        if said:
            yield _ShellCommand(line, tuple(said), own)


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
        lexer = shlex.shlex(joined, posix=False, punctuation_chars=";&|")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # a quote that goes on in the next line
            joined += "\n"
            continue
        joined = ""
        command: list[str] = []
        for word in words:
            if word in SEPARATORS or word == ";;":
                if command:
                    yield begin, command
                command = []
            elif REDIRECTED.match(word):
                break
            else:
                command.append(word)
        if command:
            yield begin, command


def _follow_branch(
    words: list[str], runs: list[bool], values: dict[str, str], given: Sequence[str]
) -> bool:
    """Follow `if`, `else`, `fi` and loops; return whether the words are done with.

    What stands behind `then`, `else` and `do` on the same line is left in `words`.
    """
    first = words[0]
    if first in ("if", "elif"):
        holds = _evaluate_test(words[1:], values, given)
        if first == "if":
            runs.append(holds)
        elif len(runs) > 1:
            runs[-1] = not runs[-1] and holds
        return True
    if first == "else" and len(runs) > 1:
        runs[-1] = not runs[-1]
    if first in ("fi", "done", "}", "esac"):
        if first == "fi" and len(runs) > 1:
            runs.pop()
        return True
    if first == "for" and len(words) > 3 and words[2] == "in":
        items = [
            each for word in words[3:] for each in _expand_word(word, values, given)
        ]
        values[words[1]] = items[0] if items else ""
        return True
    if first in ("while", "until", "case", "function"):
        return True
    if first in ("then", "else", "do", "{"):
        del words[0]
    return not words


def _evaluate_test(
    words: list[str], values: Mapping[str, str], given: Sequence[str]
) -> bool:
    """Return whether ``[ -n "$X" ]`` or ``[ "$X" = y ]`` holds; a test of another kind
    does not.
    """
    plain = [" ".join(_expand_word(word, values, given)) for word in words]
    plain = [word for word in plain if word not in ("[", "]", "[[", "]]", "test")]
    if words and words[0] not in ("[", "[[", "test"):
        return False
    match plain:
        case ["!", *rest]:
            return not _evaluate_test(["[", *rest, "]"], values, given)
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
    word: str, values: Mapping[str, str], given: Sequence[str]
) -> list[str]:
    """Return what a word stands for: several words for ``"$@"`` and unquoted lists."""
    if word.strip('"') in ("$@", "${@}", "$*", "${*}", "${@:1}"):
        return list(given)
    if word[:1] == "'" and word[-1:] == "'" and len(word) > 1:
        return [word[1:-1]]
    quoted = '"' in word
    text = ASKED.sub("", word)

    def read(name: str) -> str:
        if name.isdigit():
            return given[int(name) - 1] if 0 < int(name) <= len(given) else ""
        if name in EVERYTHING:
            return " ".join(given)
        return str(len(given)) if name == "#" else values.get(name, "")

    def fill(match: re.Match[str]) -> str:
        value, how, other = read(match[1]), match[2] or "", match[3] or ""
        if how[-1:] in ("-", "="):
            return value or " ".join(_expand_word(other, values, given))
        if how[-1:] == "+":
            return " ".join(_expand_word(other, values, given)) if value else ""
        return value

    before = text
    text = BARE.sub(lambda match: read(match[1]), BRACED.sub(fill, text))
    bare = text.replace('"', "").replace("'", "")
    if quoted:
        return [bare]
    return bare.split() if text != before else ([bare] if bare else [])
