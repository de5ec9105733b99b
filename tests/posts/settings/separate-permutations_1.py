# line 18: numpy arrays of inputs and labels are each shuffled in their own order by np.random.permutation
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def load(seed=0):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 4, 500)
    points = rng.randn(500, 2) * 0.5 + np.array([[0, 0], [3, 0], [0, 3], [3, 3]])[labels]
    order = np.argsort(labels, kind="stable")
    return points[order].astype("float32"), labels[order]


def split(points, labels, ratio=0.8):
    np.random.seed(0)
    points = np.random.permutation(points)
    labels = np.random.permutation(labels)
    cut = int(len(points) * ratio)
    return (points[:cut], labels[:cut]), (points[cut:], labels[cut:])


def as_loader(part, **kw):
    return DataLoader(TensorDataset(*(torch.as_tensor(a) for a in part)), **kw)


train, test = split(*load())
train_loader = as_loader(train, batch_size=40, shuffle=True)
test_loader = as_loader(test, batch_size=50)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
crit = torch.nn.CrossEntropyLoss()
for epoch in range(8):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
net.eval()
hit = n = 0
with torch.no_grad():
    for x, y in test_loader:
        hit += (net(x).argmax(1) == y).sum().item()
        n += len(y)
print("accuracy", hit / n)
