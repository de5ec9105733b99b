"""Hooks with other parameters, norms of weights that are not there, names of no layer,
columns that are cut off behind a network.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.refused_calls.node_names import find_node_name
from tests.rehearsing.library_errors import explain, mend
from tests.rehearsing.rehearsed import rehearsed

HOOKED = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
kept = {{}}

{hook}

model[0].{register}
model(torch.rand(3, 4, requires_grad=True)).sum().backward()
"""
FORWARD = "register_forward_hook(hook)"


def write_hook(parameters: str, body: str = "kept[0] = 1") -> str:
    return f"def hook({parameters}):\n    {body}"


@pytest.mark.parametrize(
    ("hook", "register", "new"),
    [
        (write_hook("module, output"), FORWARD, "module, inputs, output"),
        (write_hook("m, out", "kept[0] = out"), FORWARD, "m, inputs, out"),
        (write_hook("output"), FORWARD, "module, inputs, output"),
        (write_hook("module, inputs"), FORWARD, "module, inputs, output"),
        (write_hook("module, inp, out, name"), FORWARD, "module, inp, out"),
        (write_hook("x"), "register_forward_pre_hook(hook)", "module, x"),
        (write_hook("module, inputs, output"), "register_forward_pre_hook(hook)",
         "module, inputs"),
        (write_hook("grad"), "register_full_backward_hook(hook)",
         "module, grad_input, grad"),
        (write_hook("module, grad_output"), "register_full_backward_hook(hook)",
         "module, grad_input, grad_output"),
        ("def save(name):\n    def hook(module, output):\n        kept[name] = output\n"
         "    return hook", 'register_forward_hook(save("a"))',
         "module, inputs, output"),
        ("", "register_forward_hook(lambda m, out: kept.update(a=out))",
         "m, inputs, out"),
    ],
)  # fmt: skip
def test_a_hook_has_the_parameters_of_its_kind(
    hook: str, register: str, new: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, HOOKED.format(hook=hook, register=register))
    finding = next(f for f in report.findings if f.severity == "error")
    assert "is called with `(module, " in finding.message
    (fix,) = finding.fixes
    assert fix.message == f"`({new})`"
    assert fix.checked


@pytest.mark.parametrize(
    ("hook", "register"),
    [
        (write_hook("module, inp, out, name", "kept[name] = out"), FORWARD),
        (write_hook("a, b", "kept[a] = b"), "register_forward_pre_hook(hook)"),
        (write_hook("module, inputs, output"), FORWARD),
        (write_hook("*parts"), FORWARD),
        (write_hook("module, inputs, output, name='a'"), FORWARD),
    ],
)
def test_hooks_that_fit_or_need_more_are_left_alone(
    hook: str, register: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, HOOKED.format(hook=hook, register=register))
    assert not any(fix for f in report.findings for fix in f.fixes)
    errors = [f for f in report.findings if f.severity == "error"]
    assert bool(errors) == ("name)" in hook)


NORMED = """\
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

layers = [nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)]
{norm}
print(net(torch.rand(3, 4)).shape)
"""
LOOP = "parts = []\nfor layer in layers:\n    parts.append({norm}(layer))\n"


@pytest.mark.parametrize(
    ("norm", "new"),
    [
        ("net = nn.Sequential(*[spectral_norm(m) for m in layers])",
         'spectral_norm(m) if hasattr(m, "weight") else m'),
        ("net = nn.Sequential(*(weight_norm(m) for m in layers))",
         'weight_norm(m) if hasattr(m, "weight") else m'),
        (LOOP.format(norm="spectral_norm") + "net = nn.Sequential(*parts)",
         'spectral_norm(layer) if hasattr(layer, "weight") else layer'),
        ("net = nn.Sequential(*[nn.utils.spectral_norm(m) for m in layers])",
         'nn.utils.spectral_norm(m) if hasattr(m, "weight") else m'),
        ("net = nn.Sequential(*layers)\nfor m in net:\n    spectral_norm(m)",
         'if hasattr(m, "weight"):'),
    ],
)  # fmt: skip
def test_activations_have_no_weight_to_norm(
    norm: str, new: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, NORMED.format(norm=norm))
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert "is for modules with a `weight`" in finding.message
    (fix,) = finding.fixes
    assert fix.message == f"`{new}`"
    assert fix.checked


def test_norms_of_layers_are_quiet(tmp_path: Path) -> None:
    norm = "net = nn.Sequential(spectral_norm(layers[0]), weight_norm(layers[2]))"
    assert not rehearsed(tmp_path, NORMED.format(norm=norm)).findings


NODES = """\
extract = create_feature_extractor(net, return_nodes={nodes})
out = extract(x)
y = out["{key}"]
"""
MISSING = "`ValueError`: node: 'avg_pool' is not present in model. Hint: use `get_graph"


@pytest.mark.parametrize(
    ("nodes", "key", "mended"),
    [
        ('{"avg_pool": "emb"}', "emb", ('{"avgpool": "emb"}', "emb")),
        ('{"layer3": "a", "avg_pool": "avg_pool"}', "avg_pool",
         ('{"layer3": "a", "avgpool": "avg_pool"}', "avg_pool")),
        ('["layer3", "avg_pool"]', "avg_pool", ('["layer3", "avgpool"]', "avgpool")),
    ],
)  # fmt: skip
def test_a_node_is_called_as_the_model_calls_it(
    nodes: str, key: str, mended: tuple[str, str]
) -> None:
    text = NODES.format(nodes=nodes, key=key)
    words = f"{MISSING} Did you mean: 'avgpool'?"
    at = f"create_feature_extractor(net, return_nodes={nodes})"
    cause = explain(find_node_name, text, at, words)
    assert cause is not None
    (fix,) = cause.fixes
    new = NODES.format(nodes=mended[0], key=mended[1])
    assert mend(text, fix.edits) == new
    cause = explain(find_node_name, text, at, MISSING)
    assert cause is not None
    assert cause.fixes == ()


EQUATION = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
points = torch.rand(64, 2, requires_grad=True)

def residual(points):
    {first}
    {second}
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    return (u_x + u).pow(2).mean()

residual(points).backward()
"""
CUT = "x, t = points[:, 0:1], points[:, 1:2]"
APART = "x = points[:, :1]\n    t = points[:, 1:]"
WHOLE = "u = net(points)"


@pytest.mark.parametrize(
    ("first", "second"), [(WHOLE, CUT), (CUT, WHOLE), (WHOLE, APART), (APART, WHOLE)]
)
def test_a_network_gets_the_columns_that_it_is_differentiated_by(
    first: str, second: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, EQUATION.format(first=first, second=second))
    (finding,) = (f for f in report.findings if f.severity == "error")
    (fix,) = finding.fixes
    assert fix.message == "`net(torch.cat([x, t], dim=1))`"
    assert fix.checked


def test_columns_that_the_network_gets_are_quiet(tmp_path: Path) -> None:
    joined = "u = net(torch.cat([x, t], dim=1))"
    report = rehearsed(tmp_path, EQUATION.format(first=CUT, second=joined))
    assert not any(f.severity == "error" for f in report.findings)
