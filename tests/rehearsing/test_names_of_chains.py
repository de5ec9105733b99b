"""Chains of branches that test the name which they set, and tokenizers that are to pad
without a token for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.library_settings import find_missing_setting
from shapewright.findings.finding import Finding
from tests.rehearsing.library_errors import explain, mend
from tests.rehearsing.rehearsed import rehearsed

CHAIN = """\
import torch


def pool(x, mode="mean"):
    if mode == "mean":
        out = x.mean(1)
    elif {second} == "sum":
        out = x.sum(1)
    elif {third}:
        out = x.amax(1)
    else:
        raise ValueError(mode)
    return out


for mode in ("mean", "sum", "max"):
    print(pool(torch.ones(4, 3), mode).shape)
"""


def _find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("second", "third", "count"),
    [
        ("out", 'out == "max"', 2),
        ("out", 'out in ("max", "peak")', 2),
        ("out", 'mode == "max"', 1),
        ("mode", 'out == "max"', 1),
    ],
)
def test_the_branches_test_what_the_first_one_tests(
    second: str, third: str, count: int, tmp_path: Path
) -> None:
    text = CHAIN.format(second=second, third=third)
    (finding,) = _find_errors(tmp_path, text)
    assert "`out` has no value where this branch tests it" in finding.message
    assert [fix.message for fix in finding.fixes] == ["`mode` for `out`"]
    assert [edit.text for edit in finding.fixes[0].edits] == ["mode"] * count
    assert finding.fixes[0].checked


@pytest.mark.parametrize("first", ["mode is None", "x.dim() == 3", "callable(mode)"])
def test_a_first_test_of_another_kind_gives_no_name(first: str, tmp_path: Path) -> None:
    text = CHAIN.format(second="out", third='out == "max"')
    text = text.replace('mode == "mean"', first, 1)
    shown = [fix.message for f in _find_errors(tmp_path, text) for fix in f.fixes]
    assert "`mode` for `out`" not in shown


def test_a_chain_of_the_argument_is_quiet(tmp_path: Path) -> None:
    text = CHAIN.format(second="mode", third='mode == "max"')
    assert not _find_errors(tmp_path, text)


def test_a_chain_below_the_first_value_is_quiet(tmp_path: Path) -> None:
    text = CHAIN.format(second="mode", third='out == "max"')
    text = text.replace("    if mode ==", "    out = mode\n    if mode ==", 1)
    assert not _find_errors(tmp_path, text)


TOKENS = """\
from transformers import AutoTokenizer, PreTrainedTokenizerFast

def encode(lines, folder):
    {loaded}
    return {called}(lines, padding="max_length", max_length=8)
"""
WORDS = (
    "`ValueError`: Asking to pad but the tokenizer does not have a padding token."
    " Please select a token to use as `pad_token`"
)


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("tokenizer", "AutoTokenizer.from_pretrained(folder)"),
        ("tok", "PreTrainedTokenizerFast.from_pretrained(folder)"),
        ("tok", "PreTrainedTokenizerFast(tokenizer_object=folder, eos_token='</s>')"),
        ("self.tokenizer", "AutoTokenizer.from_pretrained(\n        folder)"),
    ],
)
def test_the_end_token_pads(name: str, loaded: str) -> None:
    text = TOKENS.format(loaded=f"{name} = {loaded}", called=name)
    at = f'{name}(lines, padding="max_length", max_length=8)'
    cause = explain(find_missing_setting, text, at, WORDS)
    assert cause is not None
    new = f"{name}.pad_token = {name}.eos_token"
    assert [fix.message for fix in cause.fixes] == [f"`{new}`"]
    lines = mend(text, cause.fixes[0].edits).splitlines()
    assert lines[-2] == f"    {new}"


@pytest.mark.parametrize(
    "loaded",
    [
        "tokenizer = load(folder)",
        "tokenizer = PreTrainedTokenizerFast(tokenizer_object=folder, pad_token=None)",
        "a = b = AutoTokenizer.from_pretrained(folder)",
    ],
)
def test_where_nothing_says_which_tokenizer_there_is_no_edit(loaded: str) -> None:
    text = TOKENS.format(loaded=loaded, called="tokenizer")
    at = 'tokenizer(lines, padding="max_length", max_length=8)'
    cause = explain(find_missing_setting, text, at, WORDS)
    assert cause is not None
    assert not cause.fixes
