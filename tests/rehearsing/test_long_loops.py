"""Loops that do not train are cut as well, and leave behind what a whole run leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.api import check_target, trace_target
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn

net = nn.Linear(4, 4)
turns = 0


def count(module, args, out):
    global turns
    turns += 1


net.register_forward_hook(count)
x = torch.randn(2, 4)
"""

SAMPLER = """\
class Diffusion:
    def __init__(self, steps):
        self.steps = steps
        self.betas = torch.linspace(1e-4, 0.02, steps)

    @torch.no_grad()
    def sample(self, x):
        frames = []
        for t in reversed(range(self.steps)):
            noise = torch.randn_like(x) if t > 0 else torch.zeros_like(x)
            x = x - self.betas[t] * net(x) + noise
            frames.append(x)
        return t, frames


t, frames = Diffusion(1000).sample(x)
assert turns < 50 and t == 0 and torch.stack(frames).shape == (1000, 2, 4)
"""

DECODER = """\
def generate(tokens, count):
    with torch.no_grad():
        for _ in range(count):
            tokens = torch.cat([tokens, net(tokens)[:, -1:]], dim=1)
    return tokens


tokens = generate(torch.randn(2, 5, 4), 512)
assert turns < 50 and tokens.shape == (2, 517, 4)
"""

CACHE = """\
from dataclasses import dataclass


@dataclass
class Cache:
    keys: list
    length: int


def step(x, cache):
    keys = [torch.cat([key, net(x)], 1) for key in cache.keys]
    return x + keys[0][:, -1:], Cache(keys, cache.length + 1)


with torch.no_grad():
    x, cache = x[:, None], Cache([torch.zeros(2, 1, 4)] * 2, 1)
    for _ in range(300):
        x, new = step(x, cache)
        cache = new
assert turns < 100 and cache.length == 301
assert [key.shape[1] for key in cache.keys] == [301, 301]
"""

COUNTER = """\
step = 0
found = torch.zeros(2, 1, 4)
with torch.no_grad():
    while step < 3000:
        x = net(x)
        found = torch.cat((found, x.unsqueeze(1)), 1)
        step += 1
assert turns < 50 and step == 3000 and found.shape == (2, 3001, 4)
"""

BACKWARDS = """\
left, bar = 800, iter(range(800))
with torch.no_grad():
    for step in bar:
        left -= 1
        x = net(x)
assert turns < 50 and step == 799 and left == 0
"""

HIDDEN = """\
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(2, 1, 4)

    def forward(self, x):
        self.kept = torch.cat([self.kept, net(x)[:, None]], 1)
        return self.kept.mean(1)


memory = Memory()
with torch.no_grad():
    for _ in range(60):
        x = memory(x)
assert turns == 60 and memory.kept.shape == (2, 61, 4)
"""

UNEVEN = """\
kept = []
with torch.no_grad():
    for t in range(90):
        x = net(x)
        if t % 7 == 3:
            kept.append(x)
assert turns == 90 and len(kept) == 13
"""

BY_KEY = """\
kept = {}
with torch.no_grad():
    for t in range(90):
        x = net(x)
        kept[t] = x
assert torch.stack(list(kept.values())).shape == (90, 2, 4)
"""

PROGRAMS = {
    "a sampler": SAMPLER,
    "a decoder": DECODER,
    "a cache": CACHE,
    "a counter": COUNTER,
    "a count backwards": BACKWARDS,
    "growth that only the model knows": HIDDEN,
    "a list that grows now and then": UNEVEN,
    "a dict": BY_KEY,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_loop_leaves_is_that_of_a_whole_run(tmp_path: Path, name: str) -> None:
    report = rehearsed(tmp_path, HEAD + PROGRAMS[name])
    assert not report.findings


WITHIN = """\
class Sampler(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.model, self.steps = nn.Linear(4, 4), steps
        self.model.register_forward_hook(count)

    def forward(self, x):
        frames = []
        for t in reversed(range(self.steps)):
            x = self.model(x) + (torch.randn_like(x) if t > 0 else 0)
            frames.append(x)
        return t, torch.stack(frames)


with torch.no_grad():
    t, frames = Sampler(1000)(x)
assert turns < 50 and t == 0 and frames.shape == (1000, 2, 4)
"""

EITHER = """frames = [x]
with torch.inference_mode():
    for now, then in zip(range(300), [*range(1, 300), -1]):
        guess = net(x)
        if then < 0:
            x = guess
            frames.append(x)
            continue
        x = guess + torch.randn_like(x)
        frames.append(x)
assert turns < 50 and len(frames) == 301
"""


@pytest.mark.parametrize("body", [WITHIN, EITHER])
def test_loops_in_a_module_and_of_two_branches_are_cut(
    tmp_path: Path, body: str
) -> None:
    assert not rehearsed(tmp_path, HEAD + body).findings


def test_a_module_that_trains_has_all_turns_of_its_loop(tmp_path: Path) -> None:
    body = WITHIN.replace("with torch.no_grad():", "if True:")
    body = body.replace("turns < 50", "turns == 1000")
    assert not rehearsed(tmp_path, HEAD + body).findings


def test_the_last_turn_has_the_length_of_a_whole_run(tmp_path: Path) -> None:
    body = DECODER.replace("net(tokens)", "(net(tokens) + places[: tokens.shape[1]])")
    body = body.replace("def generate", "places = torch.zeros(50, 4)\n\n\ndef generate")
    body = body.partition("assert")[0].replace("512", "60")
    finding = rehearsed(tmp_path, HEAD + body).findings[0]
    assert finding.severity == "error"
    assert "51" in finding.message


def test_trace_and_check_cut_such_loops_and_say_so(tmp_path: Path) -> None:
    file = tmp_path / "decode.py"
    file.write_text(HEAD + DECODER)
    report = check_target(str(file))
    trace = trace_target(str(file)).trace
    assert not report.findings
    assert trace.complete
    for told in (report.assumptions, trace.assumptions):
        (text,) = [each.message for each in told if "turns of 512" in each.message]
        assert "more were cut" not in text


def test_a_rehearsal_says_how_many_turns_were_run(tmp_path: Path) -> None:
    told = rehearsed(tmp_path, HEAD + SAMPLER).rehearsal
    assert told is not None
    (text,) = told.skipped
    assert "of 1,000 turns were run" in text
