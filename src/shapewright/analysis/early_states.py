"""State that is made of a model's parameters before the model is moved: of an optimizer
of the program's own, an average of the weights, a table of norms.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shapewright.analysis.fixes.statements import cut_lines, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name
from shapewright.record.ops import Op

MOVES = frozenset({"to", "cuda"})
READING = frozenset({"parameters", "named_parameters", "state_dict", "buffers"})
"""Methods of a model that hand out its tensors."""


@dataclass(frozen=True, slots=True)
class EarlyState:
    """The statement that makes a state of a model, and the one that moves the model
    later.
    """

    text: SourceText
    call: ast.Call
    making: ast.stmt
    moving: ast.stmt
    model: str


def find_early_state(program: Program, maker: Op) -> EarlyState | None:
    """Return where a call was asked for a state of a model that is moved below it."""
    for frame in reversed(maker.frames):
        text_and_call = program.call_at(frame.span)
        if text_and_call is None:
            continue
        text, call = text_and_call
        making = text.statement_of(call)
        for model in _iter_models(call):
            moving = _find_later_move(text, making, model)
            if moving is not None:
                return EarlyState(text, call, making, moving, model)
    return None


def suggest_earlier_move(state: EarlyState) -> Fix:
    """Suggest to move the model before a state is made of its parameters."""
    text = state.text
    written = text.written(state.moving)
    edits = (write_before(text, state.making, written), cut_lines(text, state.moving))
    shown = join_lines(text.written(state.making))
    return Fix("fits", f"`{join_lines(written)}` before `{shown}`", edits)


def _iter_models(call: ast.Call) -> list[str]:
    """Return the names of the models whose parameters a call is given, or which it is
    given themselves.
    """
    arguments = [*call.args, *(word.value for word in call.keywords)]
    models = [get_dotted_name(argument) for argument in arguments]
    for argument in arguments:
        for node in ast.walk(argument):
            if isinstance(node, ast.Call) and get_called_name(node) in READING:
                func = node.func
                if isinstance(func, ast.Attribute):
                    models.append(get_dotted_name(func.value))
    return [model for model in dict.fromkeys(models) if model]


def _find_later_move(text: SourceText, making: ast.stmt, model: str) -> ast.stmt | None:
    """Return the statement below another one that moves a model to a device."""
    for node in text.nodes:
        if not isinstance(node, ast.Expr | ast.Assign) or node.lineno <= making.lineno:
            continue
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        same_scope = text.parent(node) is text.parent(making)
        is_move = call.func.attr in MOVES and get_dotted_name(call.func.value) == model
        if is_move and same_scope:
            return node
    return None
