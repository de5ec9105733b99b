# line 32: the pseudo labels are collected in shuffled order and joined with the unlabelled rows in their own order
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, RandomSampler, SequentialSampler, TensorDataset


def moons(n):
    side = torch.randint(2, (n,))
    angle = 3.14 * torch.rand(n)
    x = torch.stack([angle.cos() + side, angle.sin() * (1 - 2 * side) + 0.4 * side], dim=1)
    return x + 0.08 * torch.randn(n, 2), side


def fit(net, data, epochs=15):
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    net.train()
    for _ in range(epochs):
        for x, y in DataLoader(data, batch_size=32, sampler=RandomSampler(data)):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()


def make_net():
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))


@torch.no_grad()
def pseudo_labels(net, points):
    net.eval()
    pool = TensorDataset(points)
    batches = DataLoader(pool, batch_size=64, sampler=RandomSampler(pool))
    guesses = []
    for (x,) in batches:
        guesses.append(net(x).argmax(dim=1))
    return torch.cat(guesses)


torch.manual_seed(3)
labelled = TensorDataset(*moons(64))
unlabelled, _ = moons(400)
teacher = make_net()
fit(teacher, labelled)
extended = ConcatDataset([labelled, TensorDataset(unlabelled, pseudo_labels(teacher, unlabelled))])
student = make_net()
fit(student, extended, epochs=4)
student.eval()
x, y = moons(300)
with torch.no_grad():
    print("student accuracy", (student(x).argmax(1) == y).float().mean().item())
