"""Mistakes that are written as text: which line of which way is changed, and what is
said of it.

```
# never cleared
in_a_class: - zero
  gradients-not-cleared: `self.optim.zero_grad()`
```
The line of a way has its edits, with ` ;; ` between them: `- zero` leaves a line out,
`zero|old|new` writes a part of it otherwise, `zero < loop` and `zero > loop` put it
before or behind another one, `with nograd` takes the head of a block away, and
`epochs train` puts a line before the loop over epochs. Below it stand the code and,
where one is known to be right, the first edit; or `untold`, and why.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.rehearsing.ways import (
    FOLDER,
    DoesNotApplyError,
    Row,
    drop,
    find,
    leave_block,
    move,
    move_before_epochs,
    read_rows,
    write,
)


@dataclass(frozen=True)
class Case:
    """A mistake in one way: the code that tells it, empty if none does, and the first
    edit, or why nothing tells it.
    """

    kind: str
    name: str
    way: str
    edits: str
    code: str
    words: str

    def text(self) -> str:
        """The program with the mistake."""
        rows = read_rows(self.kind, self.way)
        for edit in self.edits.split(" ;; "):
            change(rows, edit)
        return write(rows)


def read_cases(file: str) -> list[Case]:
    """The cases of a file."""
    cases: list[Case] = []
    kind = name = way = edits = ""
    for line in (FOLDER / file).read_text("utf-8").splitlines():
        if line.startswith("## "):
            kind = line.removeprefix("## ")
        elif line.startswith("# "):
            name = line.removeprefix("# ")
        elif line.startswith("  "):
            code, _, words = line.strip().partition(":")
            told = "" if code == "untold" else code
            cases.append(Case(kind, name, way, edits, told, words.strip()))
        elif line:
            way, _, edits = line.partition(": ")
    return cases


def change(rows: list[Row], edit: str) -> None:
    """Make one edit of the rows of a program."""
    first, _, last = edit.partition(" ")
    if first == "-":
        drop(last)(rows)
    elif first == "with":
        leave_block(last)(rows)
    elif first == "epochs":
        move_before_epochs(last)(rows)
    elif "|" not in first and last.startswith(("< ", "> ")):
        move(first, last[2:], is_behind=last[0] == ">")(rows)
    else:
        name, old, new = edit.split("|")
        at = find(rows, name)
        if old not in rows[at][0]:
            raise DoesNotApplyError(edit)
        rows[at] = rows[at][0].replace(old, new, 1), name
