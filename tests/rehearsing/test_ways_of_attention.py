"""The usual silent mistakes of an attention, in each way in which it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.ways import (
    DoesNotApplyError,
    Mistake,
    list_ways,
    move,
    read_rows,
    replace,
    replace_each,
    write,
)

WAYS = list_ways("attention")
MASK = "mask[:, None, None, :]"
OF_FLOATS = f"(1.0 - {MASK}.float())"
INVERTED = {
    f"{MASK} == 0": f"{MASK} == 1", OF_FLOATS: f"{MASK}.float()",
    "attn_mask=mask": "attn_mask=~mask", "~mask": "mask",
}  # fmt: skip
MEAN = r"\(x \* weights\)\.sum\(dim=1\) / weights\.sum\(dim=1\)"
MISTAKES: dict[str, tuple[Mistake, str]] = {
    "weights of the queries": (replace("softmax", r"dim=(-1|3)", "dim=-2"),
                               "wrong-axis"),
    "weights of the batch": (replace("softmax", r"dim=(-1|3)", "dim=0"), "batch-axis"),
    "inverted": (replace_each("fill", INVERTED), "mask-axis"),
    "the result thrown away": (
        replace("fill", r"^(\s+)\w+ = (scores\.masked_fill|energy\.masked_fill)",
                r"\1\2"),
        "result-dropped",
    ),
    "along the queries": (
        replace_each("fill", {MASK: "mask[:, None, :, None]",
                              "unsqueeze(1)": "unsqueeze(2)"}),
        "mask-axis",
    ),
    "masked too late": (move("fill", "softmax"), "weak-mask"),
    "heads not turned back": (replace("merge", r"\.transpose\(1, 2\)", ""),
                              "view-mixes-dims"),
    "heads by a view": (
        replace("q", r"\.view\(b, t, self\.heads, self\.head_dim\)\.transpose\(1, 2\)",
                ".view(b, self.heads, t, self.head_dim)"),
        "view-mixes-dims",
    ),
    "a plain list": (replace("blocks", r"nn\.ModuleList\((.*)\)$", r"\1"),
                     "not-in-optimizer"),
    "one block": (
        replace("blocks", r"\[Block\(dim\) for _ in range\(depth\)\]",
                "[Block(dim)] * depth"),
        "repeated-layer",
    ),
    "a plain table": (replace("posdef", r"nn\.Parameter\((.*)\)$", r"\1"),
                      "not-a-parameter"),
    "pooled over the batch": (
        replace("pool", r"\.sum\(dim=1\) / weights\.sum\(dim=1\)",
                ".sum(dim=0) / weights.sum(dim=0)"),
        "target-shape",
    ),
    "padding in the mean": (replace("pool", MEAN, "x.mean(dim=1)"), "padded-mean"),
}  # fmt: skip
NOT_TOLD = {
    ("by_einsum", "inverted"), ("by_einsum", "masked too late"),
    ("of_one_layer", "masked too late"), ("of_a_module", "inverted"),
}  # fmt: skip
"""A comparison of truths with 1, scores that are divided first, another error, and a
test of its own.
"""


def list_cases() -> Iterator[tuple[str, str]]:
    """Each mistake in each way in which it can be made, and is told."""
    for way in WAYS:
        for name, (mistake, _) in MISTAKES.items():
            try:
                mistake(read_rows("attention", way))
            except DoesNotApplyError:
                continue
            if (way, name) not in NOT_TOLD:
                yield way, name


@pytest.mark.parametrize("way", WAYS)
def test_the_right_attention_is_quiet(way: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write(read_rows("attention", way)))
    assert [finding.message for finding in report.findings] == []


@pytest.mark.parametrize(("way", "name"), list(list_cases()))
def test_a_mistake_is_told_in_each_way(way: str, name: str, tmp_path: Path) -> None:
    mistake, code = MISTAKES[name]
    rows = read_rows("attention", way)
    mistake(rows)
    findings = rehearsed(tmp_path, write(rows)).findings
    (finding,) = [each for each in findings if each.code == code]
    assert finding.fixes
    assert finding.fixes[0].checked
