"""Pictures, the states of a recurrent layer and texts of a batch in the place of a
tensor, and where the name of such a value is set.
"""

from __future__ import annotations

import ast

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_iterated,
    iter_own_nodes,
)


def list_definition(
    text: SourceText, value: ast.expr | None, written: str
) -> tuple[Related, ...]:
    """Return where a name is set."""
    if value is None:
        return ()
    return (Related(text.span(value), f"`{written}` is set here"),)


def find_assigned(text: SourceText, name: ast.Name) -> ast.expr | None:
    """Return what a name was set to last above a place, in its function."""
    scope = text.around(name, *FUNCTIONS) or text.tree
    values = [
        node.value
        for node in iter_own_nodes(scope)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name.id
        and node.lineno < name.lineno
    ]
    return values[-1] if values else None


def explain_picture(text: SourceText, node: ast.Name) -> Explanation:
    """Explain a picture of PIL in the place of a tensor."""
    name = node.id
    message = f"`{name}` is a picture of PIL, and no tensor"
    span, fixes = text.span(node), []
    if "import transforms" in text.text or "transforms as" in text.text:
        for batch in (".unsqueeze(0)", ""):
            new = f"transforms.ToTensor()({name}){batch}"
            fixes.append(Fix("fits", f"`{new}`", (Edit(span, new),)))
    related = list_definition(text, find_assigned(text, node), name)
    return Explanation(message, related, tuple(fixes))


def explain_states(text: SourceText, node: ast.Name) -> Explanation | None:
    """Explain `out, h = lstm(x)`, whose `h` is a pair of states."""
    scope = text.around(node, *FUNCTIONS) or text.tree
    for statement in iter_own_nodes(scope):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        state = target.elts[1]
        if not isinstance(state, ast.Name) or state.id != node.id:
            continue
        assert isinstance(statement, ast.Assign)
        call = text.line_of(statement.value)
        message = (
            f"`{node.id}` is a pair: an LSTM returns its hidden and its cell state"
        )
        related = (Related(text.span(statement.value), f"`{call}` returns them"),)
        fixes = []
        for last in ("[-1]", ""):
            new = f"({node.id}, _)"
            edits = (Edit(text.span(state), new), Edit(text.span(node).end, last))
            shown = f"`{text.line_of(target.elts[0])}, {new} = {call}`"
            shown += f" and `{node.id}{last}`" if last else ""
            fixes.append(Fix("fits", shown, edits if last else edits[:1]))
        return Explanation(message, related, tuple(fixes))
    return None


def explain_texts(
    program: Program, text: SourceText, node: ast.Name
) -> Explanation | None:
    """Explain a part of a batch that collating left as a tuple: texts."""
    if any("collate_fn" in own.text for own in program.own_texts()):
        return None
    for outer in text.outwards(node):
        target = outer.target if isinstance(outer, ast.For) else None
        parts = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)] if (
            isinstance(target, ast.Tuple)
        ) else []  # fmt: skip
        if node.id in parts and isinstance(outer, ast.For):
            source = text.line_of(get_iterated(outer.iter))
            message = (
                f"`{node.id}` is a tuple of texts, as `{source}` collates them: a loss"
                " takes the numbers of classes"
            )
            place = Related(text.span(outer.iter), "the batches come from here")
            return Explanation(message, (place,))
    return None


def explain_packed(text: SourceText, node: ast.Name) -> Explanation | None:
    """Explain `out, _ = lstm(packed)`, whose `out` is packed too."""
    scope = text.around(node, *FUNCTIONS) or text.tree
    packs = [
        call
        for call in (ast.walk(scope) if scope is not None else ())
        if isinstance(call, ast.Call)
        and get_called_name(call) == "pack_padded_sequence"
    ]
    assigned = [
        statement
        for statement in iter_own_nodes(scope)
        if isinstance(statement, ast.Assign)
        and statement.lineno < node.lineno
        and node.id in collect_names(statement, ast.Store)
    ]
    message = (
        f"`{node.id}` is a packed sequence, as a recurrent layer returns of one: other"
        " layers take the padded tensor"
    )
    if not packs or not assigned:
        return Explanation(message)
    pack, statement = packs[-1], assigned[-1]
    written = text.written(pack.func)
    owner = written.removesuffix("pack_padded_sequence")
    full = owner or "torch.nn.utils.rnn."
    words = [w for w in pack.keywords if w.arg == "batch_first"]
    first = f", batch_first={text.written(words[0].value)}" if words else ""
    new = f"{node.id}, _ = {full}pad_packed_sequence({node.id}{first})"
    fix = Fix("fits", f"`{new}`", (write_after(text, statement, new),))
    related = (Related(text.span(pack), "it is packed here"),)
    return Explanation(message, related, (fix,))
