"""Terms, flags, states and distances that run and mean something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

HEAD = (
    "import numpy as np\nimport torch\nimport torch.nn.functional as F\n"
    "from torch import nn\n\n"
)
COPIED = """
model = nn.Linear(4, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.rand(8, 4), torch.randint(0, 6, (8,))
    scores = model(x)
    kept = np.where((scores.detach().max(1)[0] > 0).cpu().numpy())[0]
    far = {far}
    loss = F.cross_entropy(scores, y) + far.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FROZEN = """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for name, p in model.named_parameters():
    if name.startswith("0."):
        p.requires_grad = False
decayed, plain = [], []
for name, p in model.named_parameters():
{flag}    (plain if "bias" in name else decayed).append(p)
optimizer = torch.optim.SGD(decayed, lr=0.1, weight_decay=1e-3)
optimizer.add_param_group({{"params": plain}})
for _ in range(3):
    loss = F.cross_entropy(model(torch.rand(8, 4)), torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HINGED = """
model = nn.Linear(4, 6)
x = model(torch.rand(20, 4))
mean = x.mean(dim=0)
pull = F.relu(torch.norm(x - mean, dim={dim}) - 0.5)
pull.pow(2).mean().backward()
"""
STACKED = """
class Encoder(nn.Module):
    def __init__(self, width, n_layers):
        super().__init__()
        self.n_layers = n_layers
        self.width = width
        self.gru = nn.GRU(width, width{layers})

    def forward(self, x, hidden):
        {loop}
        return x, hidden

    def start(self):
        return torch.zeros({count}, 1, self.width)

encoder = Encoder(8, 2)
output, hidden = encoder(torch.rand(5, 1, 8), encoder.start())
output.sum().backward()
"""
LOOP = "for i in range(self.n_layers):\n            x, hidden = self.gru(x, hidden)"
UNWRITTEN = """
model = nn.GRUCell(4, 4)
place, score = nn.Linear(4, 2), nn.Linear(4, 1)
parts = nn.ModuleList([model, place, score])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)

def step(x, h):
    h = model(x, h)
    return h, score(h), place(h)

for _ in range(3):
    h, aim = torch.zeros(6, 4), torch.rand(6, 2)
    values, places = torch.zeros(5, 6), torch.zeros(5, 6, 2)
    for t in range(5):
        h, value, where = step(torch.rand(6, 4), h)
        values[t] = value.squeeze(1)
{write}    loss = values.pow(2).mean() + (places - aim).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
EMPTY = """
from torch.utils.data import DataLoader, Dataset

class Scenes(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.items = []
        for i in range(12):
            mask = np.zeros((1, 8, 8), "float32")
            if i % 2:
                mask[:, 2:5, 3:6] = 1
            self.items.append((rng.normal(size=(3, 8, 8)).astype("float32"), mask))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

model = nn.Conv2d(3, 1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, mask in DataLoader(Scenes(), batch_size=2, shuffle=True):
    error = model(x).pow(2)
{guard}    loss = (error * mask).sum() / {count}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SPLIT = """
from torch.utils.data import DataLoader, TensorDataset

def run(net, loader):
    net.eval()
    right = 0
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        right += (net(x).argmax(1) == y).sum()
    return loss, right

def train(net, loader, optimizer):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

def data(n):
    return TensorDataset(torch.rand(n, 4), torch.randint(0, 3, (n,)))

train_loader = DataLoader(data(32), batch_size=8, shuffle=True)
val_loader = DataLoader(data(16), batch_size=8)
net = nn.Linear(4, 3)
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(2):
    train(net, train_loader, optimizer)
    with torch.no_grad():
        val_loss, val_right = run(net, {loader})
"""
RESUMED = """
def save(model, optimizer, epoch, path):
    torch.save({{"model": model.state_dict(), "epoch": epoch,
                "optimizer": optimizer.state_dict()}}, path)

def load(model, path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    return model, state, state["epoch"] + 1

def main(epochs, resume):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    start = 0
    if resume:
        model, state, start = load(model, resume)
{more}    for epoch in range(start, epochs):
        loss = F.cross_entropy(model(torch.rand(8, 4)), torch.randint(0, 3, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        save(model, optimizer, epoch, "last.pt")

main(2, "")
main(4, "last.pt")
"""
CHOSEN = """
def choose(net, parts):
    chosen = []
    for part in parts:
        chosen += list(getattr(net, part).parameters())
    return chosen

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

net = Net()
params_to_train = choose(net, ["body", "head"])
print(len(params_to_train))
optimizer = torch.optim.SGD({given}, lr=0.1)
for _ in range(3):
    loss = F.cross_entropy(net(torch.rand(8, 4)), torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CASES = {
    "parameters that are chosen": (
        CHOSEN.format(given="net.parameters()"),
        CHOSEN.format(given="params_to_train"),
        "flag-without-effect",
        "`params_to_train`",
    ),
    "numbers through numpy": (
        COPIED.format(far="torch.from_numpy(scores.data.numpy()[kept]).float()"),
        COPIED.format(far="scores[kept]"),
        "term-without-graph",
        "`scores[kept]`",
    ),
    "flags that are undone": (
        FROZEN.format(flag="    p.requires_grad = True\n"),
        FROZEN.format(flag=""),
        "flag-without-effect",
        "without `p.requires_grad = True`",
    ),
    "distances along the mean's dim": (
        HINGED.format(dim=0),
        HINGED.format(dim=1),
        "wrong-axis",
        "`torch.norm(x - mean, dim=-1)`",
    ),
    "one recurrent layer for each": (
        STACKED.format(layers="", loop=LOOP, count=1),
        STACKED.format(
            layers=", num_layers=n_layers",
            loop="x, hidden = self.gru(x, hidden)",
            count="self.n_layers",
        ),
        "repeated-layer",
        "`nn.GRU(width, width, num_layers=n_layers)`, called once",
    ),
    "zeros that nothing writes": (
        UNWRITTEN.format(write=""),
        UNWRITTEN.format(write="        places[t] = where\n"),
        "term-without-graph",
        "`places[t] = where`",
    ),
    "masks that may be empty": (
        EMPTY.format(count="mask.sum()", guard=""),
        EMPTY.format(
            count="mask.sum()", guard="    if mask.sum() < 1:\n        continue\n"
        ),
        "mean-of-none",
        "`mask.sum().clamp(min=1)`",
    ),
    "the other loader": (
        SPLIT.format(loader="train_loader"),
        SPLIT.format(loader="val_loader"),
        "unused-split",
        "`val_loader` for `train_loader`",
    ),
    "a state that is handed back": (
        RESUMED.format(more=""),
        RESUMED.format(more='        optimizer.load_state_dict(state["optimizer"])\n'),
        "state-not-resumed",
        '`optimizer.load_state_dict(state["optimizer"])`',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_means_something_else_is_found(case: str, tmp_path: Path) -> None:
    wrong, right, code, fix = CASES[case]
    findings = rehearsed(tmp_path, HEAD + wrong).findings
    found = [finding for finding in findings if finding.code == code]
    assert len(found) == 1
    assert [edit.message for edit in found[0].fixes][:1] == [fix]
    codes = [finding.code for finding in rehearsed(tmp_path, HEAD + right).findings]
    assert code not in codes


def test_a_loop_over_distinct_labels_is_short(tmp_path: Path) -> None:
    text = HEAD + (
        "model = nn.Conv2d(3, 4, 1)\n"
        "masks = torch.randint(0, 4, (2, 64, 64))\n"
        "loss = 0\n"
        "for emb, mask in zip(model(torch.rand(2, 3, 64, 64)), masks):\n"
        "    for label in mask.unique():\n"
        "        loss = loss + emb[:, mask == label].mean()\n"
        "loss.backward()\n"
    )
    report = rehearsed(tmp_path, text)
    assert not report.findings
    assert len(report.trace.ops) < 500


TOKENS = """
from torch import nn

model = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 50))
for _ in range(3):
    tokens = torch.randint(4, 50, (4, 12))
    tokens[torch.arange(12)[None] >= torch.tensor([[12], [9], [7], [10]])] = 0
    picked = (torch.rand(4, 12) < 0.15) & tokens.ne(0)
    masked, targets = tokens.masked_fill(picked, 3), tokens.masked_fill(~picked, -100)
    loss = F.cross_entropy(model(masked).flatten(0, 1), targets.flatten())
    loss.backward()
    model.zero_grad()
"""


def test_tokens_that_are_masked_in_a_new_tensor_are_right(tmp_path: Path) -> None:
    codes = [finding.code for finding in rehearsed(tmp_path, HEAD + TOKENS).findings]
    assert "masked-targets" not in codes


LAZY = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.LazyLinear(3)).to(device)
with torch.no_grad():
    net(torch.rand(2, 1, 8, 8, device=device))
optimizer = torch.optim.Adam(net.parameters())
for _ in range(2):
    scores = net(torch.rand(4, 1, 8, 8, device=device))
    loss = F.cross_entropy(scores, torch.randint(0, 3, (4,), device=device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_lazy_layer_is_made_where_it_was_moved(tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, HEAD + LAZY, device="cuda").findings


SHARPNESS = """
class SAM:
    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.steps = model, optimizer, {}

    @torch.no_grad()
    def climb(self):
        for name, p in self.model.named_parameters():
            self.steps[name] = 0.05 * p.grad / (p.grad.norm() + 1e-12)
            p.add_(self.steps[name])
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descend(self):
        for name, p in self.model.named_parameters():
            p.sub_(self.steps[name])
        self.optimizer.step()
        self.optimizer.zero_grad()

model = nn.Linear(4, 3)
sam = SAM(model, torch.optim.SGD(model.parameters(), lr=0.1))
for _ in range(3):
    x, y = torch.rand(8, 4), torch.randint(0, 3, (8,))
    F.cross_entropy(model(x), y).backward()
    sam.climb()
    F.cross_entropy(model(x), y).backward()
    sam.descend()
"""


def test_gradients_that_a_method_reads_are_used(tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, HEAD + SHARPNESS).findings
