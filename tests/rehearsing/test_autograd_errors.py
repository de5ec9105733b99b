"""Errors of autograd: which tensor, which line, and the edit that was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

START = """\
import torch
from torch import nn

"""

CARRIED = """\
lstm = nn.LSTM(8, 16, batch_first=True)
head = nn.Linear(16, 5)
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
state = None
for step in range(4):
    out, state = lstm(torch.randn(4, 10, 8), state)
    loss = head(out).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

IN_OBJECT = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.rnn(x, self.hidden)
        return out

net = Net()
optimizer = torch.optim.Adam(net.parameters())
for step in range(4):
    loss = net(torch.randn(4, 10, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

ONCE = """\
encoder, decoder = nn.Linear(10, 5), nn.Linear(5, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
x = torch.randn(16, 10)
code = torch.relu(encoder(x))
for step in range(4):
    loss = (decoder(code) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

ENCODED = """\
encoder, head = nn.Linear(10, 5), nn.Linear(5, 1)
optimizer = torch.optim.Adam(head.parameters())
x = torch.randn(16, 10)
code = torch.relu(encoder(x))
for step in range(4):
    loss = head(code).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

ENCODED_WITH_MORE = """\
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 5)

    def forward(self, x):
        return self.fc(x), x.mean()

encoder, head = Encoder(), nn.Linear(5, 1)
optimizer = torch.optim.Adam(head.parameters())
code, _ = encoder(torch.randn(16, 10))
for step in range(4):
    for rows in code.split(4):
        loss = head(rows).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

TWO_LOSSES = """\
body, one, other = nn.Linear(10, 5), nn.Linear(5, 3), nn.Linear(5, 1)
parameters = [*body.parameters(), *one.parameters(), *other.parameters()]
optimizer = torch.optim.Adam(parameters)
for step in range(4):
    hidden = torch.relu(body(torch.randn(8, 10)))
    first = one(hidden).pow(2).mean()
    second = other(hidden).pow(2).mean()
    optimizer.zero_grad()
    first.backward()
    second.backward()
    optimizer.step()
"""

GAN = """\
G = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
D = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
bce = nn.BCEWithLogitsLoss()
for step in range(4):
    fake = G(torch.randn(8, 16))
    d_loss = bce(D(torch.randn(8, 32)), torch.ones(8, 1))
    d_loss = d_loss + bce(D(fake), torch.zeros(8, 1))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(fake), torch.ones(8, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
"""

GAN_STEPPED_LAST = """\
G, D = nn.Linear(4, 12), nn.Linear(12, 1)
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
for step in range(4):
    fake = torch.tanh(G(torch.randn(8, 4)))
    d_loss = torch.relu(1 + D(fake)).mean()
    d_loss = d_loss + torch.relu(1 - D(torch.randn(8, 12))).mean()
    g_loss = -D(fake).mean()
    opt_d.zero_grad()
    opt_g.zero_grad()
    d_loss.backward()
    g_loss.backward()
    opt_d.step()
    opt_g.step()
"""

SUMMED = """\
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(8, 4)
    loss = 0
    for k in range(3):
        loss += net(x)[:, k].pow(2).mean()
    loss.backward()
    for k in range(3):
        loss += net(x)[:, k].abs().mean()
    loss.backward()
    optimizer.step()
"""

ENCODED_AGAIN = """\
G, D, E = nn.Linear(4, 12), nn.Linear(12, 1), nn.Linear(12, 4)
optimizer = torch.optim.Adam([*G.parameters(), *E.parameters()])
for step in range(4):
    z = torch.randn(8, 4)
    fake = torch.tanh(G(z))
    realism = torch.relu(1 - D(fake)).mean()
    code = (E(fake) - z).pow(2).mean()
    optimizer.zero_grad()
    realism.backward()
    code.backward()
    optimizer.step()
"""

ACTIVATION = """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        out = torch.sigmoid(self.fc(x))
        out += x
        return out

net = Block()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    loss = net(torch.randn(4, 8)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

INPLACE = """\
net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.ReLU(inplace=True), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    loss = net(torch.randn(4, 8)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

LEAF_IN_PLACE = """\
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        x = F.relu(x, inplace=True)
        x = F.dropout(x, 0.1, inplace=True)
        return self.fc(x)

net = Net()
for step in range(4):
    x = torch.randn(4, 8, requires_grad=True)
    net(x).mean().backward()
"""

LEAF_IN_LAYERS = """\
net = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(0.1, True), nn.Linear(8, 1))
for step in range(4):
    x = torch.randn(4, 8, requires_grad=True)
    net(x).mean().backward()
"""

LEAF_BY_METHOD = """\
w = torch.randn(10, 1, requires_grad=True)
for step in range(4):
    (torch.randn(32, 10) @ w).pow(2).mean().backward()
    w.sub_(0.1 * w.grad)
    w.grad.zero_()
"""

DETACHED = """\
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    pred = net(torch.randn(4, 8))
    loss = pred.detach().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

BY_HAND = """\
w = torch.randn(10, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for step in range(4):
    loss = (torch.randn(32, 10) @ w + b).pow(2).mean()
    loss.backward()
    w -= 0.1 * w.grad
    b -= 0.1 * b.grad
    w.grad.zero_()
    b.grad.zero_()
"""

FROZEN = """\
net = nn.Linear(8, 1)
for p in net.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    loss = net(torch.randn(4, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

WRITTEN_PART = """
class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad

layer = nn.Linear(10, 8)
rows = Gather.apply(layer(torch.randn(4, 10)))[:, :6]
mask = torch.arange(4) < 2
rows[mask, :] = rows[mask, :] + 1.0
rows.sum().backward()
"""

WRITTEN_STATE = """\
encode, read = nn.Linear(6, 6), nn.Linear(6, 6)
memory = encode(torch.randn(4, 5, 6))
total = 0
for step in range(3):
    total = total + read(memory).pow(2).mean()
    memory[:, step] = memory[:, step] * torch.sigmoid(read(memory[:, step]))
total.backward()
"""

WRITTEN_HALF = """
layer = nn.Linear(10, 8)
left, right = layer(torch.randn(4, 10)).chunk(2, dim=1)
left += 1
(left * right).sum().backward()
"""


def found(folder: Path, text: str) -> list[tuple[str, str, str]]:
    """Code, message and first checked fix of each finding."""
    report = rehearsed(folder, START + text)
    return [
        (each.code, each.message, each.fixes[0].message if each.fixes else "")
        for each in report.findings
    ]


@pytest.mark.parametrize(
    ("text", "code", "named", "fix"),
    [
        (CARRIED, "graph-freed", "`state` carries",
         "`state = tuple(each.detach() for each in state)`"),
        (IN_OBJECT, "graph-freed", "`self.hidden` carries",
         "`self.hidden = self.hidden.detach()`"),
        (ONCE, "graph-freed", "`code` is computed once, before the loop",
         "`code = torch.relu(encoder(x))` inside the loop"),
        (ENCODED, "graph-freed", "`code` is computed once, before the loop",
         "`with torch.no_grad():` around `code = torch.relu(encoder(x))`"),
        (ENCODED_WITH_MORE, "graph-freed", "computed once, before the loop",
         "`with torch.no_grad():` around `code, _ = encoder(torch.randn(16, 10))`"),
        (TWO_LOSSES, "graph-freed", "share the graph of `hidden`",
         "`(first + second).backward()`, once"),
        (SUMMED, "graph-freed", "is added to again", "`loss = 0` before the loop"),
        (GAN, "graph-freed", "share the graph of `fake`", "`fake.detach()`"),
        (ACTIVATION, "saved-tensor-written", "`out += x`", "`out = out + x`"),
        (INPLACE, "saved-tensor-written", "writes to", "`inplace=False`"),
        (DETACHED, "graph-cut", "`pred.detach()`", "`pred`"),
        (BY_HAND, "leaf-written", "`w -= 0.1 * w.grad`",
         "`with torch.no_grad():` around `w -= 0.1 * w.grad`"),
        (LEAF_IN_PLACE, "leaf-written", "`F.relu(x, inplace=True)`",
         "`inplace=False` at lines 12 and 13"),
        (LEAF_IN_LAYERS, "leaf-written", "writes to `x`", "`inplace=False`"),
        (LEAF_BY_METHOD, "leaf-written", "`w.sub_(0.1 * w.grad)`",
         "`with torch.no_grad():` around `w.sub_(0.1 * w.grad)`"),
        (FROZEN, "graph-cut", "no parameter", "`p.requires_grad = True`"),
        (WRITTEN_PART, "saved-tensor-written", "what a custom `Function` returned",
         "`rows = rows.clone()` before `rows[mask, :] = rows[mask, :] + 1.0`"),
        (WRITTEN_STATE, "saved-tensor-written", "which the backward pass",
         "`new_memory = memory.clone()`, written in its place"),
        (WRITTEN_HALF, "saved-tensor-written", "one of several views",
         "`left = left + 1`"),
    ],
)  # fmt: skip
def test_the_tensor_is_named_and_the_edit_was_tried(
    tmp_path: Path, text: str, code: str, named: str, fix: str
) -> None:
    (only,) = (each for each in found(tmp_path, text) if each[0] == code)
    assert only[0] == code
    assert named in only[1]
    assert only[2] == fix


def test_torch_names_the_type_that_a_real_run_has(tmp_path: Path) -> None:
    (only,) = rehearsed(tmp_path, START + INPLACE).findings
    with pytest.raises(RuntimeError) as real:
        exec(START + INPLACE, {})
    assert "[torch.FloatTensor [4, 8]]" in only.torch_message
    assert only.torch_message == str(real.value)


@pytest.mark.parametrize("text", [ENCODED_AGAIN, TWO_LOSSES])
def test_no_loss_is_cut_from_what_it_trains(tmp_path: Path, text: str) -> None:
    findings = rehearsed(tmp_path, START + text).findings
    (only,) = (each for each in findings if each.severity == "error")
    messages = [fix.message for fix in only.fixes]
    assert messages[0].endswith("backward()`, once")
    assert not any("detach" in message for message in messages)


def test_a_pass_in_a_branch_is_not_the_only_one(tmp_path: Path) -> None:
    text = START + "extra = True\n" + TWO_LOSSES
    last = "    second.backward()"
    text = text.replace(last, f"    if extra:\n    {last}")
    (only,) = rehearsed(tmp_path, text).findings
    (fix,) = only.fixes
    assert fix.message == "`first.backward(retain_graph=True)`"


def test_only_the_loss_of_the_discriminator_is_cut(tmp_path: Path) -> None:
    (only,) = rehearsed(tmp_path, START + GAN_STEPPED_LAST).findings
    lines = [edit.span.line for fix in only.fixes for edit in fix.edits]
    assert [fix.message for fix in only.fixes] == ["`fake.detach()`"]
    assert "d_loss =" in (START + GAN_STEPPED_LAST).splitlines()[lines[0] - 1]


def test_gradients_stay_where_they_are_when_data_is_assigned(tmp_path: Path) -> None:
    text = """\
w = torch.zeros(3, requires_grad=True)
for step in range(3):
    (w * 2).sum().backward()
    w.data -= 0.1 * w.grad
    w.grad.data.zero_()
"""
    assert found(tmp_path, text) == []


def test_a_tensor_that_numpy_reads_has_no_graph(tmp_path: Path) -> None:
    (only,) = found(tmp_path, "a = nn.Linear(4, 2)(torch.ones(3, 4)).numpy()\n")
    assert only[0] == "to-numpy"
    assert only[2].endswith(".detach()`")


def test_a_gradient_of_what_is_no_leaf_is_not_kept(tmp_path: Path) -> None:
    text = """\
x = torch.randn(3, requires_grad=True) * 2
x.pow(2).sum().backward()
print(x.grad.abs())
"""
    (only,) = found(tmp_path, text)
    assert only[0] == "no-gradient-kept"
    assert only[2] == "`x.retain_grad()`"


STATES = """\
from typing import NamedTuple

class State(NamedTuple):
    v: torch.Tensor
    i: torch.Tensor

layer, head = nn.Linear(8, 8), nn.Linear(8, 5)
optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()])

def run(x, state):
    {read}
    i = torch.tanh(layer(x) + i)
    v = 0.9 * v + i
    return head(v), {made}

state = None
for step in range(3):
    out, state = run(torch.randn(4, 8), state)
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("read", "made", "fix"),
    [
        ("v, i = (0, 0) if state is None else (state.v, state.i)", "State(v, i)",
         "`state = type(state)(*(each.detach() for each in state))`"),
        ("v, i = (0, 0) if state is None else (state['v'], state['i'])",
         "{'v': v, 'i': i}",
         "`state = {key: each.detach() for key, each in state.items()}`"),
        ("v, i = (0, 0) if state is None else state[0]", "[(v, i)]",
         "`state = [tuple(each.detach() for each in layer) for layer in state]`"),
    ],
)  # fmt: skip
def test_a_state_of_any_kind_is_detached(
    tmp_path: Path, read: str, made: str, fix: str
) -> None:
    text = STATES.replace("{read}", read).replace("{made}", made)
    (only,) = found(tmp_path, text)
    assert only[0] == "graph-freed"
    assert only[2] == fix


FROZEN_WHOLE = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 3))

    def forward(self, x):
        return self.head(self.body(x))


def freeze(model):
    for p in model.parameters():
        p.requires_grad = False


net = Net()
freeze(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.randn(4, 6)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_freezing_that_takes_the_head_too_leaves_the_head(tmp_path: Path) -> None:
    (only,) = rehearsed(tmp_path, START + FROZEN_WHOLE).findings
    (fix,) = only.fixes
    assert fix.message == "`model.head[1]` stays trainable, behind the loop"
    assert fix.checked
    assert fix.edits[0].text == (
        "    for p in model.head[1].parameters():\n        p.requires_grad = True\n"
    )


def test_gradients_of_a_refused_pass_are_not_missed_by_clipping(tmp_path: Path) -> None:
    clip = "    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n    optimizer.step()"
    text = START + INPLACE.replace("    optimizer.step()", clip)
    (only,) = rehearsed(tmp_path, text).findings
    assert only.code == "saved-tensor-written"


CRITIC = """\
body, critic, head = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 3)
opt_critic = torch.optim.Adam(critic.parameters())
opt = torch.optim.Adam([*body.parameters(), *head.parameters()])
for step in range(2):
    one, other = body(torch.randn(4, 6)), body(torch.randn(4, 6))
    first = critic(one)
    second = critic(other)
    goal = torch.ones(4, 1)
    loss_critic = (first.pow(2) - second * goal).mean()
    opt_critic.zero_grad()
    loss_critic.backward(retain_graph=True)
    opt_critic.step()
    confuse = (second.pow(2) - first * goal).mean()
    loss = head(one).mean() + 0.1 * confuse
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_all_that_a_step_has_made_old_is_computed_again(tmp_path: Path) -> None:
    (only,) = rehearsed(tmp_path, START + CRITIC).findings
    first = only.fixes[0].message
    assert first == "`(critic(other).pow(2) - critic(one) * goal).mean()`"
