"""Find labels of a causal language model that are its tokens with their padding: the
loss counts each padded place, which no attention mask leaves out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import JOINING
from shapewright.analysis.hazards.loss_terms import REARRANGING
from shapewright.analysis.hazards.padded_rows import find_padded_rows
from shapewright.findings.codes import PADDED_TARGETS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op, collect_leaves

SHIFTING = ("LMHeadModel", "ForCausalLM")
"""Models of transformers that predict each token of their labels."""
COPIES = REARRANGING | {"clone"}
COMPARISONS = frozenset({"!=", "ne"})
LISTED = operators_with("takes_program_data")
FARTHEST = 8


def find_padded_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find calls of causal models whose labels are the tokens of a padded batch."""
    for call in scene.program.trace.calls:
        if not call.class_name.endswith(SHIFTING) or call.span is None:
            continue
        args, kwargs = call.inputs
        labels, tokens, mask = (
            next(iter(collect_leaves(value)), None)
            for value in (
                kwargs.get("labels"),
                kwargs.get("input_ids", args[:1]),
                kwargs.get("attention_mask"),
            )
        )
        if labels is None or tokens is None or labels.shape != tokens.shape:
            continue
        if _is_written_apart(scene, labels, tokens):
            continue
        padding = _find_padding(scene, tokens)
        if not any(
            _is_copy(scene, part, source)
            and not _is_written_apart(scene, part, source)
            and (
                (padding is not None and part is labels)
                or _is_mask_of_padding(scene, hidden)
            )
            for part, source, hidden in _iter_samples(scene, labels, tokens, mask)
        ):
            continue
        message = (
            f"the labels are the tokens with their padding: `{call.class_name}` counts"
            " each padded place in its loss, the attention mask leaves out none; -100"
            " is ignored"
        )
        related: tuple[Related, ...] = ()
        if padding is not None and padding.span is not None:
            related = (Related(padding.span, "the tokens are padded here"),)
        yield Finding(
            PADDED_TARGETS, "warning", message, call.span, call.path, related=related
        )
        return


def _iter_samples(
    scene: HazardContext, labels: Fact, tokens: Fact, mask: Fact | None
) -> Iterator[tuple[Fact, Fact, Fact | None]]:
    """Yield labels, tokens and their mask, as a whole and, where they were joined of
    as many samples, of each of the first samples.
    """
    yield labels, tokens, mask
    ends = [_find_source(scene, fact) for fact in (labels, tokens, mask) if fact]
    makers = [scene.maker(fact) for fact in ends]
    joins = [call for call in makers if call is not None and call.name in JOINING]
    if len({len(call.op.inputs) for call in joins}) != 1 or len(joins) != len(ends):
        return
    if len(joins) < len((labels, tokens, mask)):
        return
    for parts in list(zip(*(call.op.inputs for call in joins), strict=True))[:FARTHEST]:
        yield parts[0], parts[1], parts[2]


def _is_copy(scene: HazardContext, labels: Fact, tokens: Fact) -> bool:
    """Return whether labels are the tokens or a copy, or made of an equal list."""
    own, other = _find_source(scene, labels), _find_source(scene, tokens)
    if own.storage == other.storage:
        return True
    lists = [_get_list(scene, fact) for fact in (own, other)]
    return lists[0] is not None and lists[0] == lists[1]


def _get_list(scene: HazardContext, fact: Fact) -> list[object] | None:
    """Return the list of which `torch.tensor` made a tensor, or None."""
    call = scene.maker(fact)
    if call is None or call.name not in LISTED or not call.op.arguments:
        return None
    values = call.given(0)
    return values if isinstance(values, list) else None


def _find_source(scene: HazardContext, fact: Fact) -> Fact:
    """Return the tensor of which a tensor is a copy or a view."""
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or call.name not in COPIES or len(call.op.inputs) != 1:
            break
        fact = call.op.inputs[0]
    return fact


def _is_written_apart(scene: HazardContext, labels: Fact, tokens: Fact) -> bool:
    """Return whether something is written into labels that are a copy of the tokens."""
    fact = labels
    for _ in range(FARTHEST):
        if fact.storage == tokens.storage:
            return False
        users = scene.users.get(fact.tensor, ())
        if any(user.op.kind == "inplace" for user in users):
            return True
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return False
        fact = call.op.inputs[0]
    return False


def _find_padding(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that padded the rows of tokens, or None."""
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None:
            return None
        if find_padded_rows(scene, call.op) is not None:
            return call.op
        if call.name not in COPIES | JOINING or not call.op.inputs:
            return None
        fact = call.op.inputs[0]
    return None


def _is_mask_of_padding(scene: HazardContext, mask: Fact | None) -> bool:
    """Return whether an attention mask is 0 at places, as far as is known."""
    if mask is None:
        return False
    waiting = [mask]
    for _ in range(FARTHEST):
        if not waiting:
            break
        fact = waiting.pop(0)
        values = scene.program.data_values.get(fact.tensor)
        if values is not None and (values.zeros or 0 in values.kinds):
            return True
        listed = _get_list(scene, fact)
        if listed is not None and _has_padding(listed):
            return True
        call = scene.maker(fact)
        if call is None:
            return values is None and _has_padding_tokenizer(scene)
        if call.name in COMPARISONS and call.op.inputs[0].dtype.startswith("int"):
            return True
        if call.name in COPIES | JOINING:
            waiting += call.op.inputs
    return False


def _has_padding(listed: list[object]) -> bool:
    """Return whether the list of a mask, or a row of it, has ones and zeros."""
    rows = [row for row in (listed, *listed) if isinstance(row, list)]
    return any(0 in row and 1 in row for row in rows)


def _has_padding_tokenizer(scene: HazardContext) -> bool:
    """Return whether the text calls a tokenizer with `padding=True` or another."""
    return any(
        word.arg == "padding"
        and isinstance(word.value, ast.Constant)
        and word.value.value in (True, "max_length", "longest")
        and "token" in text.written(node.func).lower() + get_called_name(node)
        for text in scene.program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call)
        for word in node.keywords
    )
