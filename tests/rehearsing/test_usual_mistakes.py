"""Mistakes that are made again and again, each with the edit that an answer gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

"""
CASES = {
    "a decoder misses a row of its skip connection": (
        """\
class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)

    def forward(self, x, skip):
        x = self.up(x)
        return torch.cat([skip, x], dim=1)

Up()(torch.randn(2, 16, 12, 12), torch.randn(2, 8, 25, 25)).sum().backward()
""",
        "`self.up(x, output_size=skip.shape[2:])`",
    ),
    "a shortcut that forgets the stride": (
        """\
class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=stride, padding=1)
        self.shortcut = nn.Sequential()
        if cin != cout:
            self.shortcut = nn.Conv2d(cin, cout, 1, stride=stride)

    def forward(self, x):
        return self.conv(x) + self.shortcut(x)

Block(8, 8, 2)(torch.randn(2, 8, 16, 16)).sum().backward()
""",
        "`stride != 1 or cin != cout`",
    ),
    "groups where the dilation stands": (
        """\
class Depthwise(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride, 1, channels)

    def forward(self, x):
        return self.conv(x)

Depthwise(32, 1)(torch.randn(2, 32, 16, 16)).sum().backward()
""",
        "`groups=channels`",
    ),
    "a dropout where the width stands": (
        """\
def build(d_model, heads, dropout=0.1):
    return nn.TransformerEncoderLayer(d_model, heads, dropout, batch_first=True)

build(16, 2)(torch.randn(2, 5, 16)).sum().backward()
""",
        "`dropout=dropout`",
    ),
    "the length read from the batch": (
        """\
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(32, 1)

    def forward(self, hidden, outputs):
        steps = outputs.shape[1]
        hidden = hidden.unsqueeze(1).repeat(1, steps, 1)
        outputs = outputs.permute(1, 0, 2)
        return self.score(torch.cat((hidden, outputs), dim=2))

Attention()(torch.randn(6, 16), torch.randn(9, 6, 16)).sum().backward()
""",
        "`outputs.shape[0]`",
    ),
    "the classes flattened, too": (
        """\
logits = nn.Linear(8, 30)(torch.randn(4, 6, 8))
target = torch.randint(0, 30, (4, 6))
F.cross_entropy(logits.flatten(0, -1), target.flatten()).backward()
""",
        "`logits.flatten(0, 1)`",
    ),
    "values and indices of a maximum": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.max(x, 2)
        return self.fc(x)

Net()(torch.randn(4, 8, 50)).sum().backward()
""",
        "`torch.max(x, 2).values`",
    ),
    "a score made before the discriminator's step": (
        """\
G, D = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
criterion = nn.BCEWithLogitsLoss()
opt_d = torch.optim.Adam(D.parameters())
opt_g = torch.optim.Adam(G.parameters())
for step in range(3):
    fake = G(torch.randn(5, 4))
    opt_d.zero_grad()
    d_fake = D(fake)
    criterion(d_fake, torch.zeros(5, 1)).backward(retain_graph=True)
    opt_d.step()
    opt_g.zero_grad()
    g_loss = criterion(d_fake, torch.ones(5, 1))
    g_loss.backward()
    opt_g.step()
""",
        "`criterion(D(fake), torch.ones(5, 1))`",
    ),
    "the old policy keeps its graph": (
        """\
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(net.parameters())
states = torch.randn(6, 4)
old = net(states).log_softmax(-1)
for epoch in range(3):
    ratio = (net(states).log_softmax(-1) - old).exp()
    loss = -ratio.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        "`with torch.no_grad():` around `old = net(states).log_softmax(-1)`",
    ),
    "a new head that no call reads": (
        """\
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(8, 16)
        self.fc = nn.Linear(16, 100)

    def forward(self, x):
        return self.fc(self.conv(x).relu())

model = Body()
for p in model.parameters():
    p.requires_grad = False
model.classifier = nn.Linear(16, 2)
optimizer = torch.optim.SGD(model.classifier.parameters(), lr=0.1)
F.cross_entropy(model(torch.randn(5, 8)), torch.tensor([0, 1, 1, 0, 1])).backward()
optimizer.step()
""",
        "`model.fc` for `model.classifier`",
    ),
    "a gradient of another shape": (
        """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x, alpha)
        return x * alpha.view(1, -1, 1)

    @staticmethod
    def backward(ctx, grad):
        x, alpha = ctx.saved_tensors
        return grad * alpha.view(1, -1, 1), grad * x

alpha = nn.Parameter(torch.ones(5))
x = torch.randn(3, 5, 7, requires_grad=True)
Scale.apply(x, alpha).sum().backward()
""",
        "`(grad * x).sum(dim=(0, 2))`",
    ),
    "a gradient for each argument of forward": (
        """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor

Scale.apply(torch.randn(3, requires_grad=True), 2.0).sum().backward()
""",
        "`return grad * ctx.factor, None`",
    ),
    "parts that the network never sees": (
        """\
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
points = torch.rand(10, 2, requires_grad=True)
x = points[:, 0:1]
t = points[:, 1:2]
u = net(points)
u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
u_x.pow(2).mean().backward()
""",
        "`net(torch.cat([x, t], dim=1))`",
    ),
    "weights without a graph": (
        """\
from torch.func import functional_call

model = nn.Linear(4, 1)
weights = dict(model.state_dict())
loss = functional_call(model, weights, (torch.randn(5, 4),)).pow(2).mean()
grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
""",
        "`model.named_parameters()`",
    ),
    "a weight bound to a new tensor": (
        """\
w = torch.randn(3, requires_grad=True)
for step in range(3):
    loss = (torch.randn(5, 3) @ w).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
        w.grad.zero_()
""",
        "`w -= 0.1 * w.grad`",
    ),
    "the class of a loss": (
        """\
criterion = nn.CrossEntropyLoss
net = nn.Linear(4, 3)
loss = criterion(net(torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1]))
loss.backward()
""",
        "`nn.CrossEntropyLoss()`",
    ),
    "the list that a loader yields": (
        """\
net = nn.Linear(4, 4)
loader = DataLoader(TensorDataset(torch.randn(20, 4)), batch_size=5)
for batch in loader:
    net(batch).sum().backward()
""",
        "`for (batch,) in loader`",
    ),
    "items that are None": (
        """\
class Files(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return None if i == 3 else (torch.ones(4), i % 2)

for x, y in DataLoader(Files(), batch_size=4):
    nn.Linear(4, 2)(x).sum().backward()
""",
        "`collate_fn=collate`, a function that leaves out the items that are None",
    ),
    "sequences that are padded to the longest of a batch": (
        """\
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 8, batch_first=True)
        self.fc = nn.Linear(8, 3)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        out, _ = self.rnn(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return self.fc(out)

logits = Tagger()(torch.randn(4, 20, 6), torch.tensor([15, 12, 9, 4]))
labels = torch.zeros(4, 20, dtype=torch.long)
F.cross_entropy(logits.reshape(-1, 3), labels.reshape(-1)).backward()
""",
        "total_length=x.size(1)",
    ),
    "layers that read the batch as time": (
        """\
layer = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=32)
encoder = nn.TransformerEncoder(layer, num_layers=2)
mask = torch.triu(torch.full((9, 9), float("-inf")), diagonal=1)
encoder(torch.randn(4, 9, 16), mask=mask).sum().backward()
""",
        "batch_first=True",
    ),
    "a context that outgrows the positions": (
        """\
size = 8

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 16)
        self.positions = nn.Embedding(size, 16)
        self.head = nn.Linear(16, 20)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(x)

model, ids = Model(), torch.zeros(1, 6, dtype=torch.long)
for step in range(5):
    following = model(ids)[:, -1].argmax(-1, keepdim=True)
    ids = torch.cat([ids, following], dim=1)
""",
        "`model(ids[:, -size:])`",
    ),
    "one sample for the whole network": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        x = self.conv(x)
        n, c, h, w = x.shape
        return x.reshape(n, c, h * w).mean(-1)

net = Net()
net(torch.randn(4, 3, 16, 16)).sum().backward()
image = torch.randn(3, 16, 16)
print(net(image))
""",
        "`image.unsqueeze(0)`",
    ),
    "an iterator that is read before the optimizer": (
        """\
class Stepper(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        self.count = sum(p.numel() for p in params)
        super().__init__(params, {"lr": lr})

net = nn.Linear(4, 2)
Stepper(filter(lambda p: p.requires_grad, net.parameters()))
""",
        "`params = list(params)`",
    ),
    "another item of a list of sizes": (
        """\
class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.first = nn.Linear(sizes[0], sizes[1])
        self.norm = nn.BatchNorm1d(sizes[1])
        self.second = nn.Linear(sizes[1], sizes[2])
        self.norm_out = nn.BatchNorm1d(sizes[1])

    def forward(self, x):
        return self.norm_out(self.second(self.norm(self.first(x))))

Encoder([12, 64, 32])(torch.randn(6, 12)).sum().backward()
""",
        "`nn.BatchNorm1d(sizes[2])`",
    ),
    "a forward inside of the constructor": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

        def forward(self, x):
            return self.fc(x)

Net()(torch.randn(3, 4)).sum().backward()
""",
        "`forward` beside `__init__`",
    ),
    "a loss of each sample": (
        """\
net, criterion = nn.Linear(4, 1), nn.MSELoss(reduction="none")
loss = criterion(net(torch.randn(5, 4)), torch.randn(5, 1))
loss.backward()
""",
        "`criterion(net(torch.randn(5, 4)), torch.randn(5, 1)).mean()`",
    ),
    "a loss of each sample, whose sum is printed": (
        """\
net, criterion = nn.Linear(4, 1), nn.MSELoss(reduction="none")
loss = criterion(net(torch.randn(5, 4)), torch.randn(5, 1))
loss.backward()
print(loss.sum().item())
""",
        "`loss.mean()`",
    ),
    "a loss of each sample, kept": (
        """\
net, criterion = nn.Linear(4, 1), nn.MSELoss(reduction="none")
loss = criterion(net(torch.randn(5, 4)), torch.randn(5, 1))
loss.backward()
print(loss.item())
""",
        "`criterion(net(torch.randn(5, 4)), torch.randn(5, 1)).mean()`",
    ),
    "a tuple of tensors made one": (
        """\
memory = [(torch.randn(4), i) for i in range(6)]
states, actions = zip(*memory)
states = torch.tensor(states)
nn.Linear(4, 2)(states).sum().backward()
""",
        "`torch.stack(states)`",
    ),
    "generators for parameters": (
        """\
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
parameters = [encoder.parameters(), decoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.1)
""",
        "`[*encoder.parameters(), *decoder.parameters()]`",
    ),
    "the report of a load": (
        """\
def load(state):
    model = nn.Linear(4, 2)
    model = model.load_state_dict(state)
    return model

model = load(nn.Linear(4, 2).state_dict())
model.eval()
model(torch.randn(3, 4))
""",
        "`model.load_state_dict(state)`",
    ),
    "decisions in a loss of its own": (
        """\
net = nn.Linear(4, 1)
probs = torch.sigmoid(net(torch.randn(5, 4)))
pred = (probs > 0.5).float()
loss = 1 - (pred * torch.ones(5, 1)).sum() / pred.sum()
loss.backward()
""",
        "`probs`",
    ),
    "the keys of a batch": (
        """\
class Texts(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return {"ids": torch.arange(4), "labels": torch.tensor(i % 2)}

net = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(16, 2))
for step, (ids, labels) in enumerate(DataLoader(Texts(), batch_size=4)):
    ids = ids.to("cpu")
    F.cross_entropy(net(ids), labels).backward()
""",
        'ids, labels = batch["ids"], batch["labels"]',
    ),
    "a sequence of blocks with two inputs": (
        """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, time):
        return self.fc(x) + time

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(3)])

    def forward(self, x, time):
        x = self.blocks(x, time)
        return x

Net()(torch.randn(3, 4), torch.randn(3, 4)).sum().backward()
""",
        "`nn.ModuleList` and `for block in self.blocks:`",
    ),
    "windows beyond the end of a series": (
        """\
class Windows(Dataset):
    def __init__(self):
        self.series, self.past, self.ahead = torch.arange(40.0), 8, 4

    def __len__(self):
        return len(self.series) - self.past

    def __getitem__(self, i):
        middle = i + self.past
        return self.series[i:middle], self.series[middle : middle + self.ahead]

for x, y in DataLoader(Windows(), batch_size=8):
    F.mse_loss(nn.Linear(8, 4)(x), y).backward()
""",
        "`len(self.series) - self.past - self.ahead + 1`",
    ),
    "a recurrent layer in a sequence": (
        """\
net = nn.Sequential(nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 1))
F.mse_loss(net(torch.randn(5, 12, 6)), torch.randn(5, 1)).backward()
""",
        "`LastStep()`",
    ),
    "an object that a model returns": (
        """\
class EncoderOutput:
    def __init__(self, state):
        self.last_hidden_state = state

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return EncoderOutput(self.fc(x))

encoder, drop = Encoder(), nn.Dropout(0.1)
hidden = encoder(torch.randn(3, 4))
drop(hidden).sum().backward()
""",
        "`hidden.last_hidden_state`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_that_of_an_answer(name: str, tmp_path: Path) -> None:
    text, wanted = CASES[name]
    report = rehearsed(tmp_path, HEAD + text)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert errors
    assert errors[0].fixes, errors[0].message
    first = errors[0].fixes[0]
    assert first.checked
    assert wanted in first.message


def test_counts_at_the_places_of_unknown_labels(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
net, matrix = nn.Linear(4, 3), torch.zeros(3, 3, dtype=torch.long)
for t, p in zip(torch.tensor([0, 1, 2]), net(torch.randn(3, 4)).argmax(1)):
    matrix[t, p] += 1
""",
    )
    assert not report.findings


def test_a_sparse_product_is_explained_as_a_dense_one(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
graph = torch.sparse_coo_tensor(edges, torch.ones(3), (3, 3))
weight = nn.Parameter(torch.randn(4, 4))
out = torch.sparse.mm(graph, torch.randn(5, 4) @ weight)
out = torch.sparse.mm(graph, out)
F.cross_entropy(out, torch.zeros(5, dtype=torch.long)).backward()
""",
    )
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == ["inner-dim-mismatch"]
    assert "`torch.sparse.mm` needs as many columns in `graph` (3, 3)" in (
        errors[0].message
    )


def test_a_new_head_of_a_model_that_ends_in_a_mean(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.conv(x).relu().mean((2, 3))

model = Body()
for p in model.parameters():
    p.requires_grad = False
model.head = nn.Linear(8, 2)
F.cross_entropy(model(torch.randn(2, 3, 9, 9)), torch.tensor([0, 1])).backward()
""",
    )
    (error,) = (f for f in report.findings if f.severity == "error")
    assert "`model.head`, set at line 17, is called nowhere" in error.message
    assert "conv" not in error.message
    assert not error.fixes
