"""Mistakes of models, losses and data, each with the edit that an answer gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

"""
ERRORS = {
    "positions without one for the class token": (
        """\
class ViT(nn.Module):
    def __init__(self, count=9, dim=9):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.randn(1, count, dim) * 0.02)
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.head((x + self.positions)[:, 0])

vit = ViT().to("cpu")
F.cross_entropy(vit(torch.randn(4, 9, 9)), torch.tensor([0, 1, 2, 0])).backward()
""",
        "`torch.randn(1, count + 1, dim)`",
    ),
    "a layer that is gone before its size is read": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(x)

net = Net()
net.fc = nn.Identity()
head = nn.Linear(net.fc.in_features, 2)
head(net(torch.randn(3, 8))).sum().backward()
""",
        "`features = net.fc.in_features` before it is replaced",
    ),
    "a model of another library returns an object": (
        """\
from dataclasses import dataclass

@dataclass
class ClassifierOutput:
    logits: torch.Tensor

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return ClassifierOutput(self.fc(x))

net, criterion = Net(), nn.CrossEntropyLoss()

def run(x):
    outputs = net(x)
    return outputs

scores = run(torch.randn(3, 8))
criterion(scores, torch.tensor([0, 1, 2])).backward()
""",
        "`return outputs.logits`",
    ),
    "edges as rows where columns are unpacked": (
        """\
edges = torch.randint(0, 5, (12, 2))
nodes = nn.Parameter(torch.randn(5, 4))
source, target = edges
(nodes[source] * nodes[target]).sum().backward()
""",
        "`edges.t()`",
    ),
    "log-probabilities of an action with two dims": (
        """\
from torch.distributions import Normal

net = nn.Linear(3, 2)
states, advantage = torch.randn(7, 3), torch.randn(7)
dist = Normal(net(states), torch.ones(2))
action = dist.sample()
ratio = (dist.log_prob(action) - torch.randn(7)[:, None]).exp()
(-(ratio * advantage)).mean().backward()
""",
        "`dist.log_prob(action).sum(-1)`",
    ),
    "labels of one of two views": (
        """\
net = nn.Linear(6, 4)

def contrast(z, n):
    scores = z @ z.T / 0.5
    labels = torch.arange(n) + n
    return F.cross_entropy(scores, labels)

first, second = torch.randn(5, 6), torch.randn(5, 6)
contrast(net(torch.cat([first, second])), 5).backward()
""",
        "`torch.cat([torch.arange(n) + n, torch.arange(n)])`",
    ),
    "a second derivative without a graph of the first": (
        """\
net = nn.Linear(1, 1)
t = torch.linspace(0, 1, 9).view(-1, 1).requires_grad_(True)

def derivative(u, t):
    return torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u))[0]

du = derivative(net(t).tanh(), t)
((derivative(du, t) + du) ** 2).mean().backward()
""",
        "create_graph=True)`",
    ),
    "a backward pass for each task": (
        """\
body, heads = nn.Linear(6, 5), nn.ModuleList([nn.Linear(5, 1), nn.Linear(5, 1)])
optimizer = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
for step in range(3):
    features = body(torch.randn(4, 6)).relu()
    optimizer.zero_grad()
    for head in heads:
        loss = F.mse_loss(head(features), torch.randn(4, 1))
        loss.backward()
    optimizer.step()
""",
        "`total.backward()` behind the loop, of the sum",
    ),
    "parameters that are mapped as samples": (
        """\
from torch.func import functional_call, grad, vmap

net = nn.Linear(4, 3)
weights = {name: p.detach() for name, p in net.named_parameters()}

def loss(weights, x, y):
    return F.cross_entropy(functional_call(net, weights, (x[None],)), y[None])

gradients = vmap(grad(loss))
gradients(weights, torch.randn(8, 4), torch.randint(0, 3, (8,)))
""",
        "`in_dims=(None, 0, 0)`",
    ),
    "masks of a data set with a channel": (
        """\
class Masks(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        image, mask = torch.randn(3, 8, 8), torch.randint(0, 4, (1, 8, 8))
        return image, mask

net = nn.Conv2d(3, 4, 1)
for image, mask in DataLoader(Masks(), batch_size=4):
    F.cross_entropy(net(image), mask).backward()
with torch.no_grad():
    for image, mask in DataLoader(Masks(), batch_size=4):
        print((net(image).argmax(1) == mask).float().mean())
""",
        "`mask.squeeze(0)`",
    ),
    "values of another dtype are written by indices": (
        """\
net = nn.Linear(4, 4)
x, out = torch.randn(6, 4), torch.zeros(6, 4)
rows = torch.tensor([0, 2])
with torch.autocast("cpu", dtype=torch.bfloat16):
    out[rows] = net(x[rows])
""",
        "`net(x[rows]).float()`",
    ),
    "a table for tests that lacks a category": (
        """\
class Frame(dict):
    @property
    def columns(self):
        return list(self)

    @property
    def values(self):
        return [list(row) for row in zip(*self.values_of())]

    def values_of(self):
        return [self[name] for name in self]

    def reindex(self, columns, fill_value):
        count = len(next(iter(self.values_of())))
        return Frame({n: self.get(n, [fill_value] * count) for n in columns})

def get_dummies(area, town):
    kinds = {t: [float(t == other) for other in town] for t in sorted(set(town))}
    return Frame({"area": area, **kinds})

train = get_dummies([1.0, 2.0, 3.0], ["a", "b", "c"])
test = get_dummies([1.0, 2.0], ["a", "b"])
net = nn.Linear(len(train.columns), 1)
net(torch.tensor(train.values, dtype=torch.float32)).sum().backward()
net(torch.tensor(test.values, dtype=torch.float32))
""",
        "`test = test.reindex(columns=train.columns, fill_value=0)`",
    ),
    "the path of a file in the place of what is in it": (
        """\
net = nn.Linear(3, 2)
torch.save(net.state_dict(), "net.pt")
net.load_state_dict("net.pt")
net(torch.randn(2, 3)).sum().backward()
""",
        '`torch.load("net.pt")`',
    ),
    "words that are counted before the last ones are added": (
        """\
class Words:
    def __init__(self, words):
        self.number_of = {"<pad>": 0}
        for word in words:
            self.number_of[word] = len(self.number_of)
        self.size = len(self.number_of)
        for word in ("<bos>", "<eos>"):
            self.number_of[word] = len(self.number_of)

words = Words(["red", "green", "blue"])
table = nn.Embedding(words.size, 4)
ids = torch.tensor([words.number_of["<bos>"], words.number_of["red"]])
table(ids).sum().backward()
""",
        "`self.size = len(self.number_of)` behind what adds to `self.number_of`",
    ),
    "a function of NumPy in a loss": (
        """\
import numpy as np

def loss_of(prediction, target):
    difference = np.log1p(prediction) - np.log1p(target)
    return (difference ** 2).mean()

net = nn.Linear(3, 1)
loss_of(net(torch.randn(4, 3)), torch.rand(4, 1)).backward()
""",
        "`torch.log1p`, which keep the graph",
    ),
    "batches of which the last one is smaller are stacked": (
        """\
net = nn.Linear(3, 2)
scores, labels = [], []
for rows in (4, 4, 2):
    scores.append(net(torch.randn(rows, 3)).argmax(1))
    labels.append(torch.zeros(rows, dtype=torch.long))
predicted, truth = torch.stack(scores).flatten(), torch.stack(labels).flatten()
""",
        "`cat` for each `stack`, of batches",
    ),
    "a complex spectrum in a convolution": (
        """\
window = torch.hann_window(32)
spectrum = torch.stft(torch.randn(2, 256), 32, window=window, return_complex=True)
conv = nn.Conv1d(17, 4, 3)
conv(spectrum).sum().backward()
""",
        "`spectrum.abs()`",
    ),
    "all that a model returns, read as its first part": (
        """\
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        mean = self.encode(x)
        return self.decode(mean), mean, mean

vae = VAE()
data = torch.randn(4, 6)
recon = vae(data)
error = (recon.view_as(data) - data).pow(2).mean()
""",
        "`recon, *_ = vae(data)`",
    ),
    "texts without a word are packed": (
        """\
from torch.nn.utils.rnn import pack_padded_sequence

gru, lengths = nn.GRU(3, 4, batch_first=True), torch.tensor([3, 0, 2])
x = torch.randn(3, 3, 3)
packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
gru(packed)[1].sum().backward()
""",
        "`lengths.clamp(min=1)`",
    ),
    "boxes without the permute that the classes have": (
        """\
classes, boxes = nn.Conv2d(6, 3 * 5, 1), nn.Conv2d(6, 3 * 4, 1)

def heads(f):
    n = f.size(0)
    scores = classes(f).permute(0, 2, 3, 1).reshape(n, -1, 5)
    places = boxes(f).reshape(n, 4, -1)
    return scores, places

scores, places = heads(torch.randn(2, 6, 4, 4))
mask = scores.argmax(-1) > 0
places[mask].sum().backward()
""",
        "`boxes(f).permute(0, 2, 3, 1).reshape(n, -1, 4)`",
    ),
    "a layer that is built in the place of its call": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x):
        x = nn.ReLU(self.first(x))
        return self.second(x)

F.cross_entropy(Net()(torch.randn(3, 4)), torch.tensor([0, 1, 2])).backward()
""",
        "`nn.ReLU()(self.first(x))`",
    ),
    "rows of several lengths in a tensor": (
        """\
ids = torch.tensor([[1, 2, 3], [4, 5], [6, 1, 2]])
nn.Embedding(9, 4)(ids).sum().backward()
""",
        "pad_sequence([torch.tensor(row) for row in [[1, 2, 3], [4, 5], [6, 1, 2]]]",
    ),
    "a sampler beside a shuffled order": (
        """\
from torch.utils.data import WeightedRandomSampler

data = [(torch.randn(3), i % 2) for i in range(8)]
options = {"batch_size": 4, "shuffle": True}
options["sampler"] = WeightedRandomSampler(torch.ones(8), num_samples=8)
net = nn.Linear(3, 2)
for x, y in DataLoader(data, **options):
    F.cross_entropy(net(x), y).backward()
""",
        '`**{**options, "shuffle": False}`',
    ),
    "a date in each item": (
        """\
from datetime import date

class Days(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return {"x": torch.randn(3), "day": date(2024, 1, i + 1)}

net = nn.Linear(3, 2)
for batch in DataLoader(Days(), batch_size=4):
    net(batch["x"]).sum().backward()
""",
        "`str(date(2024, 1, i + 1))`",
    ),
}
SILENT = {
    "a triangle that hides the query itself": (
        """\
net = nn.Linear(4, 4)
mask = torch.triu(torch.ones(6, 6)).bool()
x = torch.randn(2, 6, 4)
scores = (net(x) @ x.transpose(1, 2)).masked_fill(mask, float("-inf"))
(scores.softmax(-1) @ x).sum().backward()
""",
        "mask-axis",
        "`torch.triu(torch.ones(6, 6), diagonal=1)`",
        ("torch.ones(6, 6))", "torch.ones(6, 6), diagonal=1)"),
    ),
    "a sum of rows that divides columns": (
        """\
adjacency = (torch.rand(9, 9) > 0.5).float() + torch.eye(9)
degrees = adjacency.sum(dim=1)
net = nn.Linear(4, 2)
((adjacency / degrees) @ net(torch.randn(9, 4))).sum().backward()
""",
        "wrong-axis",
        "`adjacency.sum(dim=1, keepdim=True)`",
        ("sum(dim=1)", "sum(dim=1, keepdim=True)"),
    ),
    "indices of one sample in the rows of all": (
        """\
def neighbours(x, k=3):
    samples, points, width = x.shape
    index = torch.cdist(x, x).topk(k, dim=-1, largest=False)[1]
    index = index.view(-1)
    return x.reshape(samples * points, width)[index].view(samples, points, k, width)

net = nn.Linear(3, 2)
net(neighbours(torch.randn(4, 10, 3))).sum().backward()
""",
        "graphs-without-offsets",
        "",
        (
            "index = index.view(-1)",
            "index = (index + torch.arange(samples).view(-1, 1, 1) * points).view(-1)",
        ),
    ),
    "the target in the place of the prediction": (
        """\
net, criterion = nn.Linear(4, 3), nn.CrossEntropyLoss()
truth = F.one_hot(torch.tensor([0, 1, 2, 0, 1]), 3).float()
criterion(truth, net(torch.randn(5, 4))).backward()
""",
        "loss-input",
        "`criterion(net(torch.randn(5, 4)), truth)`",
        ("criterion(truth, net(torch.randn(5, 4)))",
         "criterion(net(torch.randn(5, 4)), truth)"),
    ),
    "images below zero as the targets of probabilities": (
        """\
net = nn.Linear(6, 6)
images = (torch.rand(4, 6) - 0.5) / 0.5
F.binary_cross_entropy(net(images).sigmoid(), images).backward()
""",
        "loss-input",
        "",
        ("(torch.rand(4, 6) - 0.5) / 0.5", "torch.rand(4, 6)"),
    ),
    "one sum of all pairs for each pair": (
        """\
users, items, bias = nn.Embedding(9, 4), nn.Embedding(7, 4), nn.Embedding(9, 1)
user, item = torch.randint(0, 9, (5,)), torch.randint(0, 7, (5,))
score = bias(user).squeeze(1) + (users(user) * items(item)).sum()
F.mse_loss(score, torch.randn(5)).backward()
""",
        "batch-dependence",
        "`(users(user) * items(item)).sum(dim=-1)`",
        (".sum()", ".sum(dim=-1)"),
    ),
    "a data set whose targets are its inputs": (
        """\
class Names(Dataset):
    def __init__(self):
        self.names = [torch.randint(0, 9, (6,)) for _ in range(8)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        return name[:-1], name[:-1]

embed, gru, out = nn.Embedding(9, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 9)
for x, y in DataLoader(Names(), batch_size=4):
    scores = out(gru(embed(x))[0])
    F.cross_entropy(scores.transpose(1, 2), y).backward()
""",
        "unshifted-target",
        "`return name[:-1], name[1:]`",
        ("name[:-1], name[:-1]", "name[:-1], name[1:]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_first_fix_is_that_of_an_answer(name: str, tmp_path: Path) -> None:
    text, wanted = ERRORS[name]
    report = rehearsed(tmp_path, HEAD + text)
    first = next(f for f in report.findings if f.severity == "error")
    assert first.fixes
    assert wanted in first.fixes[0].message


@pytest.mark.parametrize("name", SILENT)
def test_a_warning_with_the_edit_of_the_answer(name: str, tmp_path: Path) -> None:
    text, code, wanted, answer = SILENT[name]
    report = rehearsed(tmp_path, HEAD + text)
    (warning,) = (f for f in report.findings if f.severity != "note")
    assert warning.code == code
    if wanted:
        assert wanted in warning.fixes[0].message
    assert answer[0] in text
    answered = rehearsed(tmp_path, HEAD + text.replace(*answer))
    assert not [f for f in answered.findings if f.severity != "note"]


def test_a_frozen_part_that_the_whole_puts_back_into_training(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        self.student = nn.Linear(4, 4)
        self.teacher.eval()
        for p in self.teacher.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        return F.mse_loss(self.student(x), self.teacher(x))

pair = Pair()
optimizer = torch.optim.SGD(pair.student.parameters(), lr=0.1)
pair.train()
for step in range(4):
    optimizer.zero_grad()
    pair(torch.randn(8, 4)).backward()
    optimizer.step()
""",
    )
    (warning,) = report.findings
    assert (warning.code, warning.severity) == ("statistics-not-frozen", "warning")
    assert "`pair.teacher.eval()`" in warning.fixes[0].message


def test_whole_numbers_go_through_transforms(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
from torch.func import functional_call, grad, vmap

net, table = nn.Linear(4, 3), torch.randn(10, 5)
weights = {name: p.detach() for name, p in net.named_parameters()}
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))

def loss(weights, x, y):
    return F.cross_entropy(functional_call(net, weights, (x[None],)), y[None])

gradients = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
assert gradients["weight"].shape == (8, 3, 4)
assert vmap(lambda i: table[i])(y).shape == (8, 5)
assert vmap(lambda i: F.one_hot(i, 3))(y).shape == (8, 3)
""",
    )
    assert not report.findings


def test_what_is_gone_with_a_fix_is_no_second_mistake(tmp_path: Path) -> None:
    text = ERRORS["masks of a data set with a channel"][0]
    report = rehearsed(tmp_path, HEAD + text)
    assert [finding.code for finding in report.findings] == ["target-shape"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "int64", "bool"])
def test_writes_by_indices_take_what_torch_takes(dtype: str, tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + f"""\
rows, mask = torch.tensor([0, 2]), torch.tensor([True, False, True, False])
writes = {{
    "rows": (rows, (2, 3)), "a list": ([0, 1], (2, 3)), "one": (rows, (1,)),
    "mask": (mask, (2, 3)), "one by a mask": (mask, ()), "number": (1, (3,)),
    "slice": (slice(0, 2), (2, 3)), "column": ((slice(None), rows), (4, 2)),
}}
refused = []
for name, (where, shape) in writes.items():
    try:
        torch.zeros(4, 3)[where] = torch.rand(shape).to(torch.{dtype})
    except RuntimeError as error:
        assert "destination dtypes match" in str(error)
        refused.append(name)
assert refused == ["rows", "a list", "one", "mask", "column"]
""",
    )
    assert not [f for f in report.findings if "assert" in f.message.lower()]
    assert report.complete


def test_the_second_optimizer_of_one_model_gets_the_other(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
generator = nn.Linear(3, 4)
critic = nn.Linear(4, 1)
steps_of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
steps_of_generator = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(4):
    steps_of_critic.zero_grad()
    critic(generator(torch.randn(5, 3)).detach()).mean().backward()
    steps_of_critic.step()
    steps_of_generator.zero_grad()
    (-critic(generator(torch.randn(5, 3))).mean()).backward()
    steps_of_generator.step()
""",
    )
    found = [f for f in report.findings if f.code == "not-in-optimizer"]
    assert found
    assert "`generator.parameters()`" in found[0].fixes[0].message


@pytest.mark.parametrize(
    "scaled",
    ["(x - x.min()) / (x.max() - x.min())", "(x - 3.0) / 4.0", "x / 255"],
)
def test_targets_that_may_lie_between_0_and_1_are_right(
    scaled: str, tmp_path: Path
) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + f"""\
net, x = nn.Linear(6, 6), torch.randn(4, 6)
images = {scaled}
F.binary_cross_entropy(net(images).sigmoid(), images).backward()
""",
    )
    assert not report.findings


def test_a_mask_of_padding_hides_no_mask_of_the_future(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
attention = nn.MultiheadAttention(8, 2, batch_first=True)
x, padding = torch.randn(3, 5, 8), torch.zeros(3, 5, dtype=torch.bool)
future = torch.triu(torch.ones(5, 5, dtype=torch.bool))
attention(x, x, x, key_padding_mask=padding, attn_mask=future)[0].sum().backward()
""",
    )
    assert [finding.code for finding in report.findings] == ["mask-axis"]


def test_edges_of_one_graph_and_its_features_side_by_side(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
x, node = torch.randn(12, 4), nn.Embedding(12, 4)
first, others = torch.randint(0, 12, (20, 2)), torch.randint(0, 12, (20, 2))
hidden = nn.Linear(8, 8)(torch.cat([x, node.weight], dim=1))
pairs = torch.cat([first, others])
(hidden[pairs[:, 0]] * hidden[pairs[:, 1]]).sum().backward()
""",
    )
    assert "graphs-without-offsets" not in {f.code for f in report.findings}
