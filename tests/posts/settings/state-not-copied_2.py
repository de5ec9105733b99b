# line 8: the snapshot is a dict comprehension of v.detach() (no clone), which shares memory with the parameters
import torch
import torch.nn as nn
import torch.nn.functional as F


def snapshot(module):
    return {k: v.detach() for k, v in module.state_dict().items()}


def build(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Embedding(40, 12), nn.Flatten(), nn.Linear(12 * 6, 32), nn.ReLU(), nn.Linear(32, 2))


def toy_text(n, g):
    ids = torch.randint(40, (n, 6), generator=g)
    label = (ids < 10).any(1).long()
    flip = torch.rand(n, generator=g) < 0.15
    return ids, torch.where(flip, 1 - label, label)


def lr_range_test(net, data, rates, steps=8):
    """Try each learning rate from the same start."""
    start = snapshot(net)
    ids, label = data
    found = {}
    for lr in rates:
        net.load_state_dict(start)
        opt = torch.optim.SGD(net.parameters(), lr=lr)
        for i in range(steps):
            rows = slice(32 * i, 32 * (i + 1))
            loss = F.cross_entropy(net(ids[rows]), label[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
        found[lr] = loss.item()
    net.load_state_dict(start)
    return min(found, key=found.get), found


g = torch.Generator().manual_seed(0)
data = toy_text(256, g)
net = build(0)
lr, table = lr_range_test(net, data, (0.001, 0.01, 0.1, 0.3))
print("chosen", lr, table)
opt = torch.optim.SGD(net.parameters(), lr=lr)
for epoch in range(5):
    for i in torch.randperm(256, generator=g).split(32):
        loss = F.cross_entropy(net(data[0][i]), data[1][i])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
