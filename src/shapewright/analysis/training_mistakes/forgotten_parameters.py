"""Find parameters that no optimizer steps, or that one steps for nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.lost_graphs import find_block as find_with
from shapewright.analysis.fixes.module_lists import find_holder
from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.accumulated_gradients import (
    find_cleared_by_hand,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
    is_before_optimizers,
)
from shapewright.analysis.training_mistakes.frozen_heads import find_frozen_heads
from shapewright.analysis.training_mistakes.missing_passes import (
    find_inner_cut,
    find_lost_graph,
    find_missing_pass,
    list_names,
)
from shapewright.analysis.training_mistakes.new_leaves import find_new_leaf
from shapewright.analysis.training_mistakes.other_inputs import (
    find_loss_of_real_data,
)
from shapewright.analysis.training_mistakes.unknown_heads import (
    REPLACED,
    find_replaced_layer,
    find_unknown_head,
    is_head_of_other_task,
    is_switched_off,
)
from shapewright.analysis.training_mistakes.unread_layers import find_unread_layers
from shapewright.findings.codes import (
    NO_GRADIENT,
    NOT_IN_OPTIMIZER,
    PARAMETER_REPEATED,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.parameter_lists import iter_parameter_lists
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_last_line,
)
from shapewright.record.report import Optimized, Outside


@looks_for(NOT_IN_OPTIMIZER, of_whole_runs=True)
def find_forgotten_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find parameters that no optimizer steps, and optimizers of other models'
    parameters.
    """
    strangers = [
        optimizer for optimizer in scene.training.optimizers if optimizer.strangers
    ]
    if any(_is_of_inputs(optimizer) for optimizer in scene.training.optimizers):
        return
    for outside in _join_by_line(scene):
        if _is_only_checked(scene, outside):
            continue
        many = len(outside.paths)
        whole = many == outside.of
        of = "" if whole else f" of {outside.of}"
        message = (
            f"{many}{of} parameters of `{outside.model}` get gradients and are in no "
            f"optimizer: {list_names(outside.paths)}"
        )
        holders = strangers or list(scene.training.optimizers)
        holders.sort(key=_rank_holder)
        places = [scene.span(holder.built, holder.name) for holder in holders]
        places.sort(key=lambda place: not _has_repeated_module(scene, place))
        idle = holders[0] if holders and holders[0].is_idle else None
        built = _find_built(scene, outside)
        related: list[tuple[Span | None, str]] = [(built, "built here")]
        holder = find_holder(scene.program, built) if built is not None else None
        if holder is not None and whole:
            text, listed = holder
            name = _get_assigned_name(text, listed)
            kind = "dict" if isinstance(listed, ast.Dict | ast.DictComp) else "list"
            if name:
                message += f"; `{name}` is a plain {kind}, which registers no modules"
                module = "ModuleDict" if kind == "dict" else "ModuleList"
                related.append((text.span(listed), f"`nn.{module}` registers them"))
        again = _find_later_model(scene, outside, places[0] if places else None)
        if again is not None:
            message += f"; `{again[0]}` is built again behind the optimizer"
            related = [(again[1], "another model gets this name here")]
        if strangers:
            count = strangers[0].strangers
            related.append(
                (places[0], f"it holds {count} that belong to no model that ran")
            )
        if outside.thawed is not None:
            yield _report_thawed(scene, outside, message, places)
            continue
        if idle is not None and idle.is_twin:
            message += (
                f"; this `{idle.name}` has the parameters of another optimizer, and the"
                " losses before its steps give them no gradient"
            )
            related.append((scene.span(idle.stepped, "step"), "it steps here"))
        elif len(holders) > 1 and holders[0].is_twin:
            words = f"this `{holders[1].name}` has the same parameters"
            related.append((scene.span(holders[1].built, holders[1].name), words))
        most = not whole and 2 * many > outside.of
        if most and outside.as_made:
            message += "; they keep their random initial values"
        yield build_finding(
            NOT_IN_OPTIMIZER,
            message,
            places[0] if places else None,
            *related,
            severity="note" if most and not outside.as_made else "warning",
        )


def _find_later_model(
    scene: RehearsalContext, outside: Outside, optimizer: Span | None
) -> tuple[str, Span] | None:
    """Return the name, and the place, by which a model is built once more behind an
    optimizer of the parameters of the first one, or None.
    """
    whole = scene.program.built.get(outside.model)
    stepping = scene.program.call_at(optimizer)
    if stepping is None:
        return None
    text, names = stepping[0], collect_names(stepping[1])
    copy = _find_copy_behind(*stepping, names)
    if copy is not None:
        return ast.unparse(copy.targets[0]), text.span(copy.value)
    built = scene.program.call_at(whole.span) if whole is not None else None
    if built is None or text.file != built[0].file:
        return None
    call = built[1]
    statement = text.statement_of(call)
    own = text.around(call, *FUNCTIONS) is text.around(stepping[1], *FUNCTIONS)
    if not isinstance(statement, ast.Assign) or statement.lineno < stepping[1].lineno:
        return None
    name = ast.unparse(statement.targets[0])
    return (name, text.span(call)) if own and name in names else None


def _find_copy_behind(
    text: SourceText, optimizer: ast.Call, names: set[str]
) -> ast.Assign | None:
    """Return the statement behind an optimizer that gives the name of its model to a
    copy of it: `model = copy.deepcopy(model)`.
    """
    for statement in find_block(text, text.statement_of(optimizer)):
        if not isinstance(statement, ast.Assign):
            continue
        is_copy = get_called_name(statement.value) == "deepcopy"
        kept = names & collect_names(statement.value)
        own = ast.unparse(statement.targets[0]) in kept
        if is_copy and own and statement.lineno > optimizer.lineno:
            return statement
    return None


def _find_built(scene: RehearsalContext, outside: Outside) -> Span | None:
    """Return where the module of forgotten parameters was built: the whole one, if it
    is one that the program put into a list.
    """
    whole = scene.program.built.get(outside.model)
    if whole is not None and find_holder(scene.program, whole.span) is not None:
        return whole.span
    return scene.built(outside.paths[0])


def _get_assigned_name(text: SourceText, listed: ast.expr) -> str:
    """Return the attribute or name that a list is assigned to, or an empty string."""
    around = text.parent(listed)
    if isinstance(around, ast.Assign) and len(around.targets) == 1:
        return text.line_of(around.targets[0])
    return ""


def _rank_holder(holder: Optimized) -> tuple[bool, bool, bool, int]:
    """Return a sort key: of two optimizers of the same parameters the idle one comes
    first, else the one that is built last, which likely copies the other's line; then
    one that holds nothing but what is never trained.
    """
    idle = holder.is_twin and holder.is_idle
    last = -holder.built[1] if holder.is_twin else 0
    is_of_others = 0 < holder.parameters == len(holder.never)
    return not idle, not holder.is_twin, not is_of_others, last


def _is_only_checked(scene: RehearsalContext, outside: Outside) -> bool:
    """Return whether a model is read by nothing behind the first optimizer."""
    span = scene.built(outside.paths[0])
    text = scene.program.text(span.file) if span is not None else None
    if text is None or span is None or not scene.training.optimizers:
        return False
    names = {
        target.id
        for node in text.near(span.line)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    uses = [
        node
        for node in text.nodes
        if isinstance(node, ast.Name)
        and node.id in names
        and isinstance(node.ctx, ast.Load)
    ]
    return bool(uses) and all(
        is_before_optimizers(scene, (span.file, node.lineno)) for node in uses
    )


def _report_thawed(
    scene: RehearsalContext, outside: Outside, message: str, places: list[Span | None]
) -> Finding:
    """Return the finding for parameters that are unfrozen behind an optimizer."""
    return build_finding(
        NOT_IN_OPTIMIZER,
        f"{message}; they are unfrozen here, and were frozen when the optimizer was"
        " built",
        scene.span(outside.thawed, *THAWING),
        (places[0] if places else None, "it took what required gradients then"),
        (scene.built(outside.paths[0]), "built here"),
    )


THAWING = ("requires_grad_",)
"""Methods that unfreeze parameters."""


def _has_repeated_module(scene: RehearsalContext, place: Span | None) -> bool:
    """Return whether an optimizer's list has the parameters of a module twice."""
    text = scene.program.text(place.file) if place is not None else None
    if text is None or place is None:
        return False
    return any(
        listed.repeated is not None and listed.call.lineno == place.line
        for listed in iter_parameter_lists(text)
    )


def _is_of_inputs(optimizer: Optimized) -> bool:
    """Return whether an optimizer steps tensors of no module only: images, poses."""
    return 0 < optimizer.parameters == optimizer.foreign and not optimizer.strangers


def _join_by_line(scene: RehearsalContext) -> list[Outside]:
    """Return the forgotten parameters, those of modules that one line builds as one."""
    by_place: dict[object, Outside] = {}
    for outside in scene.training.outside:
        whole = len(outside.paths) == outside.of
        built = _find_built(scene, outside) if whole else None
        key: object = (built.file, built.line) if built is not None else outside.paths
        first = by_place.get(key)
        if first is None:
            by_place[key] = outside
        else:
            paths = (*first.paths, *outside.paths)
            by_place[key] = replace(first, paths=paths, of=first.of + outside.of)
    return list(by_place.values())


@looks_for(PARAMETER_REPEATED, of_whole_runs=True)
def find_repeated_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find optimizers that change a parameter several times in each step."""
    for optimizer in scene.training.optimizers:
        place = scene.span(optimizer.built, optimizer.name)
        text = scene.program.text(place.file) if place is not None else None
        lists = iter_parameter_lists(text) if text is not None else ()
        is_meant = any(listed.repeated is not None for listed in lists)
        if not optimizer.repeated or (scene.training.outside and is_meant):
            continue  # another model is meant: `not-in-optimizer`
        count = len(optimizer.repeated)
        what = f"{count} parameters" if count > 1 else "a parameter"
        yield build_finding(
            PARAMETER_REPEATED,
            f"`{optimizer.name}` has {what} more than once, so a step of it is several "
            f"steps there: {list_names(optimizer.repeated)}",
            place,
            (scene.built(optimizer.repeated[0]), "built here, and shared"),
        )


def _is_of_other_round(scene: RehearsalContext, group: Optimized, path: str) -> bool:
    """Return whether another optimizer that the same line built trains a parameter, as
    in a function that is called for each of several tasks.
    """
    return any(
        other is not group
        and other.built == group.built
        and other.stepped is not None
        and path.partition(".")[2] not in {p.partition(".")[2] for p in other.never}
        for other in scene.training.optimizers
    )


@looks_for(NO_GRADIENT, of_whole_runs=True)
def find_idle_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find parameters of an optimizer that never receive a gradient."""
    yield from find_frozen_heads(scene)
    uncalled = scene.find_uncalled("backward")
    for group in scene.training.optimizers:
        is_cleared = any(scene.observations("cleared-unused"))  # told by itself
        is_idle = group.is_idle and not (scene.training.outside or group.never)
        if is_idle and not is_cleared:
            yield _report_idle_steps(scene, group)
        if group.stepped is None or not group.never:
            continue
        idle = [
            path
            for path in group.never
            if not _is_constant_bias(scene, path)
            and not is_head_of_other_task(scene, group, path)
            and not is_switched_off(scene, path)
            and not _is_of_other_round(scene, group, path)
        ]
        if not idle:
            continue
        by_layer: dict[str, list[str]] = {}
        for path in idle:
            by_layer.setdefault(path.rpartition(".")[0], []).append(path)
        layers = list(by_layer)
        many = len(idle)
        first = scene.built(idle[0])
        optimizer = scene.span(group.built, group.name)
        whole = many == group.parameters
        if whole and any(find_cleared_by_hand(scene)):
            continue  # told by itself
        if whole and any(
            _find_later_model(scene, outside, optimizer) is not None
            for outside in scene.training.outside
        ):
            continue  # the model that is built again is told
        reason = _find_reason(scene, group) if whole else None
        if reason is not None:
            yield reason
            continue
        block = _find_block_around(scene, group, layers) if whole else None
        if block is not None:
            words, place = block
            yield build_finding(
                NO_GRADIENT,
                f"none of the {many} parameters of `{group.name}` gets a gradient: what"
                f" their model computes runs under `{words}`",
                place,
                (optimizer, "the optimizer holds them"),
                (scene.span(group.stepped, "step"), "its steps do not change them"),
            )
            continue
        lost = find_lost_graph(scene, group, layers, many)
        lost = lost or find_unknown_head(scene, layers)
        lost = lost or find_unread_layers(
            scene.program,
            f"{many} of the {group.parameters} parameters of `{group.name}` never get a"
            f" gradient, {list_names(layers)}",
            layers,
            (first, "built here"),
            (optimizer, "the optimizer holds them"),
        )
        if lost is not None:
            yield lost
            continue
        cut = find_inner_cut(scene, layers)
        ended = cut.span if cut is not None else None
        replaced = find_replaced_layer(scene, optimizer, layers)
        yield build_finding(
            NO_GRADIENT,
            f"{many} of the {group.parameters} parameters of"
            f" `{group.name}` never get a "
            f"gradient: {list_names(layers)}",
            first or optimizer if replaced is None else optimizer,
            *([(ended, "the graph of what they compute ends here")] if ended else ()),
            (optimizer, "the optimizer holds them"),
            (scene.span(group.stepped, "step"), "its steps do not change them"),
            (replaced, REPLACED),
            *([uncalled] if whole and uncalled is not None else ()),
            module=layers[0],
        )


def _is_constant_bias(scene: RehearsalContext, path: str) -> bool:
    """Return whether a parameter is a bias beside losses of derivatives, in which what
    a last layer adds is gone.
    """
    return path.rpartition(".")[2] == "bias" and any(
        op.name.rpartition(".")[2] == "grad" and dict(op.arguments).get("create_graph")
        for op in scene.program.trace.ops
    )


def _find_reason(scene: RehearsalContext, group: Optimized) -> Finding | None:
    """Return the finding on what keeps all parameters of an optimizer from gradients:
    a loss made anew, no backward pass, a loss of other data.
    """
    reason = find_new_leaf(scene, group) or find_missing_pass(scene, group)
    return reason or find_loss_of_real_data(scene, group)


def _find_block_around(
    scene: RehearsalContext, group: Optimized, layers: Sequence[str]
) -> tuple[str, Span] | None:
    """Return the `with torch.no_grad()` around all calls of some layers: the only one,
    or of several the one in the loop of the optimizer's step.
    """
    history, wanted = History(scene.program), set(layers)
    blocks = {
        find_with(history, op) for op in scene.program.trace.ops if op.module in wanted
    }
    if len(blocks) == 1:
        return blocks.pop()
    stepping = scene.program.node(scene.span(group.stepped, "step"))
    loop = stepping[0].around(stepping[1], *LOOPS) if stepping is not None else None
    if None in blocks or stepping is None or not isinstance(loop, ast.stmt):
        return None
    file, lines = stepping[0].file, range(loop.lineno, get_last_line(loop) + 1)
    near = [
        block
        for block in blocks
        if block is not None and block[1].file == file and block[1].line in lines
    ]
    return near[0] if len(near) == 1 else None


def _report_idle_steps(scene: RehearsalContext, group: Optimized) -> Finding:
    """Return the finding for an optimizer whose gradients are cleared before each of
    its steps.
    """
    return build_finding(
        NO_GRADIENT,
        f"no step of this `{group.name}` finds a new gradient: the losses before it"
        f" train other parameters than its {group.parameters}",
        scene.span(group.stepped, "step"),
        (scene.span(group.built, group.name), "its parameters are chosen here"),
    )
