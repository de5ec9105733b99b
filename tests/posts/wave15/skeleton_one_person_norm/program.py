import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

# hand joints of two signers, 21 joints each: wrist and four joints per finger
NUM_POINT = 21
FINGERS = [[0, 1 + 4 * f, 2 + 4 * f, 3 + 4 * f, 4 + 4 * f] for f in range(5)]


def adjacency():
    a = np.eye(NUM_POINT)
    for finger in FINGERS:
        for i, j in zip(finger[:-1], finger[1:]):
            a[i, j] = a[j, i] = 1
    d = a.sum(axis=1)
    return torch.tensor(a / np.sqrt(np.outer(d, d)), dtype=torch.float32)


class SkeletonFeeder(Dataset):
    """clips of shape (C, T, V, M) with M bodies; a missing second body is all zeros"""

    def __init__(self, n=120, T=20, M=2, seed=0):
        rng = np.random.default_rng(seed)
        self.label = rng.integers(0, 3, n)
        self.data = np.zeros((n, 3, T, NUM_POINT, M), dtype=np.float32)
        t = np.linspace(0, 2 * np.pi, T)
        for i, k in enumerate(self.label):
            rest = rng.normal(0, 0.3, (3, 1, NUM_POINT))
            wave = np.sin((k + 1) * t + rng.uniform(0, 6))[None, :, None]
            self.data[i, :, :, :, 0] = rest + wave * rng.normal(1, 0.1, (3, 1, NUM_POINT))
            if rng.random() < 0.3:
                self.data[i, :, :, :, 1] = rng.normal(0, 0.3, (3, 1, NUM_POINT)) + 0.2 * wave

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.data[i], int(self.label[i])


class GCNUnit(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.register_buffer("A", adjacency())
        self.gcn = nn.Conv2d(cin, cout, 1)
        self.tcn = nn.Conv2d(cout, cout, (5, 1), padding=(2, 0), stride=(stride, 1))
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        x = torch.einsum("nctv,vw->nctw", self.gcn(x), self.A)
        return F.relu(self.bn(self.tcn(F.relu(x))))


class Model(nn.Module):
    def __init__(self, num_class=3, num_point=NUM_POINT, num_person=1, in_channels=3):
        super().__init__()
        self.data_bn = nn.BatchNorm1d(num_person * in_channels * num_point)
        self.l1 = GCNUnit(in_channels, 16)
        self.l2 = GCNUnit(16, 32, stride=2)
        self.fc = nn.Linear(32, num_class)

    def forward(self, x):
        N, C, T, V, M = x.size()
        x = x.permute(0, 4, 3, 1, 2).contiguous().view(N, M * V * C, T)
        x = self.data_bn(x)
        x = x.view(N, M, V, C, T).permute(0, 1, 3, 4, 2).contiguous().view(N * M, C, T, V)
        x = self.l2(self.l1(x))
        x = x.view(N, M, x.size(1), -1).mean(dim=3).mean(dim=1)
        return self.fc(x)


def main():
    torch.manual_seed(0)
    loader = DataLoader(SkeletonFeeder(), batch_size=20, shuffle=True)
    model = Model(num_point=NUM_POINT)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for epoch in range(4):
        hits = 0
        for data, label in loader:
            out = model(data)
            loss = F.cross_entropy(out, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (out.argmax(dim=1) == label).sum().item()
        print("epoch %d top1 %.2f" % (epoch + 1, hits / len(loader.dataset)))


if __name__ == "__main__":
    main()
