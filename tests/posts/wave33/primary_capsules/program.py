import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

USE_CUDA = torch.cuda.is_available()


class ConvStem(nn.Module):
    def __init__(self, in_channels=1, out_channels=32, kernel_size=5):
        super(ConvStem, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        return F.relu(self.conv(x))


def squash(s, dim=-1):
    sq = (s ** 2).sum(dim, keepdim=True)
    return sq / (1. + sq) * s / torch.sqrt(sq + 1e-8)


class PrimaryCaps(nn.Module):
    """caps_dim convolutions, each one gives a component of every capsule vector"""

    def __init__(self, caps_dim=8, in_channels=32, maps=8, kernel_size=5):
        super(PrimaryCaps, self).__init__()
        self.maps = maps
        self.units = nn.ModuleList([
            nn.Conv2d(in_channels, maps, kernel_size, stride=2) for _ in range(caps_dim)])

    def forward(self, x):
        u = [unit(x) for unit in self.units]
        u = torch.stack(u, dim=1)
        u = u.view(x.size(0), self.maps * 6 * 6, -1)
        return squash(u)


class ClassCaps(nn.Module):
    def __init__(self, num_classes=5, num_routes=8 * 6 * 6, in_dim=8, out_dim=12, iterations=3):
        super(ClassCaps, self).__init__()
        self.iterations = iterations
        self.W = nn.Parameter(0.1 * torch.randn(1, num_routes, num_classes, out_dim, in_dim))

    def forward(self, u):
        u_hat = torch.matmul(self.W, u[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros(u_hat.shape[:3], device=u.device)
        for it in range(self.iterations):
            c = F.softmax(b, dim=2).unsqueeze(-1)
            v = squash((c * u_hat).sum(dim=1))
            if it < self.iterations - 1:
                b = b + (u_hat * v.unsqueeze(1)).sum(-1)
        return v


class CapsNet(nn.Module):
    def __init__(self):
        super(CapsNet, self).__init__()
        self.stem = ConvStem()
        self.primary = PrimaryCaps()
        self.classes = ClassCaps()

    def forward(self, x):
        return self.classes(self.primary(self.stem(x)))

    def margin_loss(self, v, target):
        length = v.norm(dim=-1)
        t = F.one_hot(target, length.size(1)).float()
        left = F.relu(0.9 - length) ** 2
        right = F.relu(length - 0.1) ** 2
        return (t * left + 0.5 * (1. - t) * right).sum(dim=1).mean()


def make_digits(n, seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 5, n)
    x = rng.rand(n, 1, 19, 19).astype(np.float32) * 0.3
    for i, k in enumerate(y):
        r, c = rng.randint(2, 6, 2)
        x[i, 0, r:r + 3 + 2 * k, c:c + 11 - 2 * k] += 0.7
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y).long())


torch.manual_seed(0)
train_loader = DataLoader(make_digits(320, 0), batch_size=32, shuffle=True)
test_loader = DataLoader(make_digits(100, 1), batch_size=50)

capsnet = CapsNet()
if USE_CUDA:
    capsnet = capsnet.cuda()
optimizer = Adam(capsnet.parameters())

for epoch in range(3):
    capsnet.train()
    total = 0.
    for data, target in train_loader:
        if USE_CUDA:
            data, target = data.cuda(), target.cuda()
        optimizer.zero_grad()
        loss = capsnet.margin_loss(capsnet(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    capsnet.eval()
    hits = 0
    with torch.no_grad():
        for data, target in test_loader:
            if USE_CUDA:
                data, target = data.cuda(), target.cuda()
            hits += (capsnet(data).norm(dim=-1).argmax(1) == target).sum().item()
    print('epoch', epoch, 'loss', total / len(train_loader), 'test acc', hits / 100.)
