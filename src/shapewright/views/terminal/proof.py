"""What was proven, for the terminal: a line for each statement.

proven  output (B, 16, (H - 12)//4, (W - 12)//4)  for B >= 1, H >= 32, W >= 32
"""

from __future__ import annotations

from shapewright.trace.proof import PROVEN, REFUTED, Proof, Statement
from shapewright.views.terminal.paint import Line, cells, lower

STYLES = {PROVEN: "out", REFUTED: "error"}


def proof_text(proof: Proof, colour: bool = False) -> str:
    """A line for each statement."""
    return lower(proof_lines(proof), colour)


def proof_lines(proof: Proof) -> list[Line]:
    """A line for each statement: its verdict, of what, and for which sizes."""
    room = max((cells(each.heading) for each in proof.statements), default=0)
    return [statement_line(each, room) for each in proof.statements]


def statement_line(statement: Statement, room: int) -> Line:
    """One statement; its verdict has so much room."""
    line: Line = [
        (f"{statement.heading:{room}}", STYLES.get(statement.verdict, "warning")),
        ("  ", ""),
    ]
    if statement.place:
        line += [(statement.place, "name"), (" ", "")]
    line.append((statement.text, "shape"))
    if statement.detail:
        line.append((f"  {statement.detail}", "dim"))
    return line
