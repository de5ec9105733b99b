"""Find inverse short-time Fourier transforms that are not those of the spectrum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNLIKE_INVERSE, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

PLACES = {"n_fft": 1, "hop_length": 2, "win_length": 3, "window": 4}
"""Where `stft` and `istft` take the settings that both must share."""
STRETCHING = frozenset({"cumsum", "cumsum_"})
"""What a phase is computed with that is stretched to other steps."""
FARTHEST = 2_000
"""Calls from a signal back to the spectrum that it is computed of."""


@looks_for(UNLIKE_INVERSE)
def find_unlike_inverses(scene: HazardContext) -> Iterator[Finding]:
    """Find `istft` without the window of `stft`, or with another step."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name != "istft" or call.op.span is None or call.op.span in seen:
            continue
        before = [*find_ancestors(scene, call.op.inputs[0], FARTHEST).values()]
        forward = [maker for maker in before if maker.name == "stft"]
        if not forward or len({str(_list_settings(m)) for m in forward}) > 1:
            continue
        is_stretched = any(maker.name in STRETCHING for maker in before)
        other = _find_other_setting(scene, forward[0], call, is_stretched)
        if not other:
            continue
        seen.add(call.op.span)
        yield scene.finding(
            UNLIKE_INVERSE,
            call.op,
            f"`istft` has another `{other}` than the `stft` whose spectrum it inverts:"
            " the frames are weighted and added in another way than they were cut out",
            (forward[0].op, "the spectrum is computed here"),
        )


def _list_settings(call: OperatorCall) -> list[object]:
    """Return the settings of a transform, and whether it has a window."""
    size = call.given(1, "n_fft")
    step = call.given(2, "hop_length")
    if step is None and isinstance(size, int):
        step = size // 4
    return [size, step, call.given(3, "win_length") or size, len(call.op.inputs) > 1]


def _find_other_setting(
    scene: HazardContext, forward: OperatorCall, back: OperatorCall, is_stretched: bool
) -> str:
    """Return the setting in which two transforms differ, or an empty string."""
    first, second = _list_settings(forward), _list_settings(back)
    windows = [_get_window(scene, call) for call in (forward, back)]
    if windows[0] != windows[1] and ("" in windows or UNKNOWN not in windows):
        return "window"
    if any(not isinstance(part, int) for part in (*first, *second)):
        return ""
    if first[1] != second[1] and not is_stretched:
        return "hop_length"
    is_same_size = first[0] == second[0]
    return "win_length" if is_same_size and first[2] != second[2] else ""


def _get_window(scene: HazardContext, call: OperatorCall) -> str:
    """Return the function that made the window of a transform, an empty string for a
    window of ones or none, and `window` for another one.
    """
    windows: tuple[Fact, ...] = call.op.inputs[1:]
    maker = scene.maker(windows[0]) if windows else None
    if not windows or (maker is not None and maker.name == "ones"):
        return ""
    is_factory = maker is not None and maker.name.endswith("_window")
    return maker.name if maker is not None and is_factory else UNKNOWN


UNKNOWN = "window"


def find_setting(call: ast.Call, name: str) -> ast.expr | None:
    """Return the expression that a call gives to a setting of a transform."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    at = PLACES[name]
    return call.args[at] if at < len(call.args) else None
