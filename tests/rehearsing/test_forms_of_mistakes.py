"""Silent mistakes in the forms in which classes, methods and loops write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

TRIPLET_SWAPPED = """\
import torch
import torch.nn.functional as F
from torch import nn
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters())
def get_batch(n=12):
    anchor = torch.randn(n, 16)
    positive = anchor + 0.1 * torch.randn(n, 16)
    negative = torch.randn(n, 16)
    return anchor, positive, negative
for _ in range(5):
    anchor, positive, negative = get_batch()
    emb_a, emb_p, emb_n = net(anchor), net(positive), net(negative)
    loss = F.triplet_margin_loss(emb_a, emb_n, emb_p, margin=0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
GAN_CLASS_NO_DETACH = """\
import torch
from torch import nn

class GAN:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
        self.D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-4)
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=2e-4)
        self.bce = nn.BCEWithLogitsLoss()

    def step(self, real):
        n = real.size(0)
        fake = self.G(torch.randn(n, 8))
        self.opt_g.zero_grad()
        self.opt_d.zero_grad()
        loss_d = self.bce(self.D(real), torch.ones(n, 1))
        loss_d = loss_d + self.bce(self.D(fake), torch.zeros(n, 1))
        loss_d.backward()
        self.opt_d.step()
        fake = self.G(torch.randn(n, 8))
        loss_g = self.bce(self.D(fake), torch.ones(n, 1))
        loss_g.backward()
        self.opt_g.step()
        return loss_d.item(), loss_g.item()

gan = GAN()
for _ in range(4):
    gan.step(torch.randn(16, 16))
"""
DATASET_INPLACE = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Signals(Dataset):
    def __init__(self, n=64):
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(n, 30)).astype("float32")
        self.y = rng.integers(0, 3, n)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        x = self.x[i]
        x += np.random.normal(0, 0.05, x.shape).astype("float32")
        return torch.from_numpy(x), int(self.y[i])

net = nn.Linear(30, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in DataLoader(Signals(), batch_size=16, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
WEIGHTS_BY_COUNT = """\
import numpy as np
import torch
from torch import nn

def class_weights(labels, n_classes):
    counts = np.bincount(labels, minlength=n_classes)
    return torch.tensor(counts / counts.sum(), dtype=torch.float32)

labels = np.random.RandomState(0).choice(3, 300, p=[0.8, 0.15, 0.05])
criterion = nn.CrossEntropyLoss(weight=class_weights(labels, 3))
net = nn.Linear(10, 3)
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    idx = torch.randint(0, 300, (16,))
    loss = criterion(net(torch.randn(16, 10)), torch.from_numpy(labels)[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
BI_HIDDEN_LAST = """\
import torch
from torch import nn

class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(500, 32)
        self.lstm = nn.LSTM(32, 64, 2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(64, 2)
    def forward(self, ids):
        _, (h, c) = self.lstm(self.emb(ids))
        return self.fc(h[-1])

net = Sentiment()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    scores = net(torch.randint(0, 500, (8, 20)))
    loss = nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
COSINE_SIGN = """\
import torch
import torch.nn.functional as F
from torch import nn
enc = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
pred = nn.Linear(16, 16)
opt = torch.optim.SGD([*enc.parameters(), *pred.parameters()], lr=0.05)
def D(p, z):
    return F.cosine_similarity(p, z.detach(), dim=-1).mean()
for _ in range(4):
    x = torch.randn(32, 20)
    x1, x2 = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    z1, z2 = enc(x1), enc(x2)
    loss = D(pred(z1), z2) / 2 + D(pred(z2), z1) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LABEL_ENCODERS = """\
import pandas as pd
import torch
from sklearn.preprocessing import LabelEncoder
from torch import nn
cities = ["rome", "oslo", "bern", "rome"]
train = pd.DataFrame({"city": cities * 10, "y": [0, 1, 1, 0] * 10})
test = pd.DataFrame({"city": ["rome", "bern"] * 6, "y": [0, 1] * 6})
for df in (train, test):
    df["city_id"] = LabelEncoder().fit_transform(df["city"])
net = nn.Sequential(nn.Embedding(3, 4), nn.Linear(4, 2))
opt = torch.optim.Adam(net.parameters())
x, y = torch.tensor(train["city_id"].values), torch.tensor(train["y"].values)
for _ in range(4):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    scores = net(torch.tensor(test["city_id"].values))
    acc = (scores.argmax(1) == torch.tensor(test["y"].values)).float().mean()
print(acc.item())
"""
CONV_OVER_FEATURES = """\
import torch
from torch import nn
SEQ, FEAT = 24, 6
class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(SEQ, 32, kernel_size=3, padding=1)
        self.fc = nn.Linear(32, 1)
    def forward(self, x):
        h = torch.relu(self.conv(x))
        return self.fc(h.mean(dim=2))
net = CNN()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = nn.functional.mse_loss(net(torch.randn(8, SEQ, FEAT)), torch.randn(8, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
SIGMOID_GT0 = """\
import torch
from torch import nn
net = nn.Linear(12, 4)
opt = torch.optim.Adam(net.parameters())
crit = nn.BCEWithLogitsLoss()
for epoch in range(2):
    tp = fp = fn = 0
    for _ in range(4):
        x, y = torch.randn(16, 12), (torch.rand(16, 4) > 0.7).float()
        logits = net(x)
        loss = crit(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        pred = (torch.sigmoid(logits) > 0).float()
        tp += (pred * y).sum().item()
        fp += (pred * (1 - y)).sum().item()
        fn += ((1 - pred) * y).sum().item()
    print(2 * tp / (2 * tp + fp + fn))
"""
WGAN_SIGN = """\
import torch
from torch import nn
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
C = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
og = torch.optim.RMSprop(G.parameters(), 5e-5)
oc = torch.optim.RMSprop(C.parameters(), 5e-5)
for i in range(6):
    real = torch.randn(16, 16)
    fake = G(torch.randn(16, 8)).detach()
    loss_c = C(fake).mean() - C(real).mean()
    oc.zero_grad()
    loss_c.backward()
    oc.step()
    for p in C.parameters():
        p.data.clamp_(-0.01, 0.01)
    if i % 3 == 2:
        loss_g = C(G(torch.randn(16, 8))).mean()
        og.zero_grad()
        loss_g.backward()
        og.step()
"""
SHARED_BN = """\
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1)
        self.bn = nn.BatchNorm2d(c)
    def forward(self, x):
        h = torch.relu(self.bn(self.conv1(x)))
        return torch.relu(self.bn(self.conv2(h)) + x)
head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
net = nn.Sequential(nn.Conv2d(3, 16, 1), Block(), Block(), head)
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    scores = net(torch.randn(8, 3, 16, 16))
    loss = nn.functional.cross_entropy(scores, torch.randint(0, 4, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
MEAN_OF_PIXELS_ACC = """\
import torch
from torch import nn
net = nn.Conv2d(3, 5, 3, padding=1)
opt = torch.optim.Adam(net.parameters())
def pixel_accuracy(logits, mask):
    pred = logits.argmax(dim=0)
    return (pred == mask).float().mean()
for _ in range(3):
    x, m = torch.randn(5, 3, 16, 16), torch.randint(0, 5, (5, 16, 16))
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, m)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(pixel_accuracy(logits, m).item())
"""
CASES: dict[str, tuple[str, tuple[tuple[str, str], ...], str, str]] = {
    "a negative in the positive's place": (
        TRIPLET_SWAPPED,
        (("emb_n, emb_p, margin", "emb_p, emb_n, margin"),),
        "reversed-mining",
        "`emb_p, emb_n`",
    ),
    "samples with their graph": (
        GAN_CLASS_NO_DETACH,
        (("self.D(fake), torch.zeros", "self.D(fake.detach()), torch.zeros"),),
        "gradients-not-cleared",
        "`self.opt_g.zero_grad()` before `loss_g.backward()`",
    ),
    "a stored row that grows": (
        DATASET_INPLACE,
        (("x = self.x[i]", "x = self.x[i].copy()"),),
        "item-written",
        '`x = x + np.random.normal(0, 0.05, x.shape).astype("float32")`',
    ),
    "shares as weights": (
        WEIGHTS_BY_COUNT,
        (("counts / counts.sum()", "counts.sum() / counts"),),
        "class-weights-inverted",
        "`counts.sum() / counts`",
    ),
    "one direction": (
        BI_HIDDEN_LAST,
        (("self.fc(h[-1])", "self.fc(h[-2] + h[-1])"),),
        "last-step",
        "`torch.cat([h[-2], h[-1]], dim=-1)` and `nn.Linear(128, ...)`",
    ),
    "a similarity that is minimized": (
        COSINE_SIGN,
        (("return F.cosine", "return -F.cosine"),),
        "minimized-overlap",
        "`-F.cosine_similarity(p, z.detach(), dim=-1).mean()`",
    ),
    "an encoder for each table": (
        LABEL_ENCODERS,
        (
            ("for df in", 'coder = LabelEncoder().fit(train["city"])\nfor df in'),
            ("LabelEncoder().fit_transform(df", "coder.transform(df"),
        ),
        "fitted-anew",
        '`encoder = LabelEncoder().fit(train["city"])` before the loop, '
        '`encoder.transform(df["city"])`',
    ),
    "features that are convolved": (
        CONV_OVER_FEATURES,
        (
            ("nn.Conv1d(SEQ,", "nn.Conv1d(FEAT,"),
            ("self.conv(x)", "self.conv(x.transpose(1, 2))"),
        ),
        "layout",
        "`x.transpose(1, 2)` and `FEAT` channels",
    ),
    "a probability above 0": (
        SIGMOID_GT0,
        (("> 0).float()", "> 0.5).float()"),),
        "logit-threshold",
        "`torch.sigmoid(logits) > 0.5`",
    ),
    "a critic's sign": (
        WGAN_SIGN,
        (("loss_g = C(", "loss_g = -C("),),
        "adversarial-labels",
        "`-C(G(torch.randn(16, 8))).mean()`",
    ),
    "one norm behind two layers": (
        SHARED_BN,
        (
            (
                "self.bn = nn.BatchNorm2d(c)",
                "self.bn, self.other = nn.BatchNorm2d(c), nn.BatchNorm2d(c)",
            ),
            ("self.bn(self.conv2", "self.other(self.conv2"),
        ),
        "repeated-layer",
        "`self.bn2 = nn.BatchNorm2d(c)` for the second layer",
    ),
    "classes of the batch": (
        MEAN_OF_PIXELS_ACC,
        (("argmax(dim=0)", "argmax(dim=1)"),),
        "wrong-axis",
        "`logits.argmax(dim=1)`",
    ),
}
"""A program, what its answer replaces, the code, and the first edit."""


@pytest.mark.parametrize("case", CASES)
def test_a_form_of_a_mistake_is_found_and_mended(case: str, tmp_path: Path) -> None:
    wrong, replaced, code, fix = CASES[case]
    found = [f for f in rehearsed(tmp_path, wrong).findings if f.code == code]
    assert len(found) == 1
    assert [edit.message for edit in found[0].fixes][:1] == [fix][: bool(fix)]
    right = wrong
    for old, new in replaced:
        right = right.replace(old, new)
    codes = [finding.code for finding in rehearsed(tmp_path, right).findings]
    assert code not in codes
