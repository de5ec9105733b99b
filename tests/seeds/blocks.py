"""The blocks of the suites: programs with claims in their comments."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from shapewright.findings.codes import CODES
from tests.seeds.claims import Claim, read

FOLDER = Path(__file__).parent
SUITES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})
KINDS = ("", "wrong", "traced only")


@dataclass(frozen=True, slots=True)
class Block:
    """One program. `kind` and `word` are what its fence says after ``python``:

    - nothing: it runs, and every claim holds;
    - ``wrong: CODE``: it ends with a finding of that code, on the line that says so;
    - ``wrong: TEXT``: TEXT is what the source says; the claims are what torch does;
    - ``traced only: REASON``: a real run needs too much.
    """

    suite: str
    line: int
    kind: str
    word: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.suite}:{self.line}"

    @property
    def code(self) -> str | None:
        """The finding that it must end with."""
        return self.word if self.kind == "wrong" and self.word in CODES else None

    def at_once(self) -> dict[int, str]:
        """What a note names in a loop's place, by line: the comment stands above it."""
        found = {}
        for number, line in enumerate(self.text.splitlines(), start=1):
            _, mark, named = line.partition("# at once: ")
            if mark:
                found[number + 1] = named
        return found

    def claims(self) -> dict[int, Claim]:
        """Claims by line of the block."""
        found = {}
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            alone = token.line.strip() == token.string
            if token.type == tokenize.COMMENT and not alone:
                found[token.start[0]] = read(token.string, token.start[0])
        return {line: claim for line, claim in found.items() if claim is not None}


def blocks() -> list[Block]:
    """Every python block of every suite, in order."""
    return [block for suite in SUITES for block in blocks_of(suite)]


def blocks_of(suite: Path) -> list[Block]:
    found = []
    for token in MarkdownIt().parse(suite.read_text("utf-8")):
        if token.type == "fence" and token.info.startswith("python") and token.map:
            said = token.info.removeprefix("python").strip()
            kind, _, word = said.partition(":")
            block = Block(
                suite.name, token.map[0] + 2, kind, word.strip(), token.content
            )
            assert kind in KINDS, f"{block.name}: a block cannot be `{kind}`"
            found.append(block)
    return found


def watched(block: Block, claims: dict[int, Claim]) -> ast.Module:
    """The program, with every value of which something is claimed shown to `__seen__`.

    Places of all expressions stay as they are in the text.
    """
    left = {line for line, claim in claims.items() if claim.error is None}
    tree = _Watched(left).visit(ast.parse(block.text))
    assert not left, f"{block.name}: no value stands on lines {sorted(left)}"
    return ast.fix_missing_locations(tree)


class _Watched(ast.NodeTransformer):
    """Takes out of `left` the lines whose statement it has wrapped."""

    def __init__(self, left: set[int]) -> None:
        self.left = left

    def taken(self, line: int | None) -> bool:
        if line not in self.left:
            return False
        self.left.discard(line)
        return True

    def value(self, node: Any) -> Any:
        """`x = value`, `return value`, or a value alone."""
        if self.taken(node.end_lineno):
            call = _seen(node.end_lineno, node.value)
            node.value = ast.copy_location(call, node.value)
        return node

    visit_Assign = visit_AnnAssign = visit_Return = visit_Expr = value

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if not self.taken(node.end_lineno):
            return node
        return [node, _look(node.target, node.end_lineno)]

    def visit_For(self, node: ast.For) -> Any:
        taken = self.taken(node.iter.end_lineno)
        self.generic_visit(node)
        if taken:
            node.body.insert(0, _look(node.target, node.iter.end_lineno))
        return node


def _look(target: ast.expr, line: int | None) -> ast.stmt:
    read = ast.parse(ast.unparse(target), mode="eval").body
    return ast.copy_location(ast.Expr(_seen(line, read)), target)


def _seen(line: int | None, value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("__seen__", ast.Load()), [ast.Constant(line), value], [])
