"""Results that a function returns with their graphs, and that a loop stores."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

x, y = torch.randn(32, 6), torch.randn(32, 1)


def error(net):
    return (net(x) - y).abs().mean()


def largest(net):
    return net(x).max()


def fit(net, steps=3):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        optimizer.step()


MEASURES
kept, table = [], {}
for rate in (0.1, 0.2, 0.3, 0.4, 0.5):
    net = nn.Linear(6, 1)
    fit(net)
BODY
"""
NESTED = """
def measure(net):
    scores = {"error": {}, "largest": {}}
    for epoch in range(2):
        for metric in (error, largest):
            scores[metric.__name__][epoch] = metric(net)  # here
    return scores
"""
LISTED = """
def measure(net):
    values = []
    for metric in (error, largest):
        value = metric(net)
        values.append(value)  # here
    return values
"""
STORES = {
    "among others": "kept.append((rate, measure(net)))",
    "alone": "kept.append(measure(net))",
    "by a name": 'scores = measure(net)\nkept.append({"rate": rate, "of": scores})',
}


def told(folder: Path, measures: str, body: str) -> list[tuple[str, str, list[str]]]:
    """Codes, the lines at which something is found, and the edits for it."""
    text = PROGRAM.replace("MEASURES", dedent(measures).strip() + "\n\n")
    text = text.replace("BODY", indent(dedent(body).strip(), "    "))
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (
            found.code,
            lines[found.span.line - 1] if found.span else "",
            [fix.message for fix in found.fixes],
        )
        for found in report.findings
    ]


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize(
    ("measures", "edit"),
    [(NESTED, "`metric(net).detach()`"), (LISTED, "`value.item()`")],
    ids=["nested", "listed"],
)
def test_what_a_function_returns_keeps_its_graph(
    tmp_path: Path, measures: str, edit: str, store: str
) -> None:
    ((code, line, edits),) = told(tmp_path, measures, store)
    assert code == "graph-kept"
    assert line.endswith("# here")
    assert edit in edits


RIGHT = {
    "values": (NESTED.replace("metric(net)  #", "metric(net).item()  #"), "alone"),
    "detached": (NESTED.replace("metric(net)  #", "metric(net).detach()  #"), "alone"),
    "without a graph": (NESTED.replace("def m", "@torch.no_grad()\ndef m"), "alone"),
    "numbers of a list": (
        LISTED.replace("append(value)", "append(float(value))"),
        "alone",
    ),
}


@pytest.mark.parametrize(("measures", "store"), RIGHT.values(), ids=RIGHT)
def test_values_may_be_kept(tmp_path: Path, measures: str, store: str) -> None:
    assert told(tmp_path, measures, STORES[store]) == []


def test_what_is_not_kept_beyond_its_turn(tmp_path: Path) -> None:
    body = 'best = min(measure(net)["error"].values()).item()\nkept.append(best)'
    assert told(tmp_path, NESTED, body) == []


def test_what_is_differentiated_later_keeps_its_graph(tmp_path: Path) -> None:
    body = "kept.append((rate, measure(net)))"
    after = "total = sum(v[0] for _, v in kept)\ntotal.backward()"
    text = f"{body}\n{after}".replace("\n", "\n    ").replace("    t", "t")
    assert told(tmp_path, LISTED, body + "\n") != []
    program = PROGRAM.replace("MEASURES", LISTED.strip() + "\n\n")
    report = rehearsed(tmp_path, program.replace("BODY", "    " + text))
    assert "graph-kept" not in [found.code for found in report.findings]
