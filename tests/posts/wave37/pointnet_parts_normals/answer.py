import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_POINTS = 256
NUM_PARTS = 4


class TableParts(Dataset):
    """tables made of a top and legs, one label per point"""

    def __init__(self, n, with_normals=False, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.with_normals = with_normals
        self.clouds, self.labels = [], []
        for _ in range(n):
            part = torch.randint(0, NUM_PARTS, (NUM_POINTS,), generator=g)
            base = torch.tensor([[0.0, 0.0, 1.0], [-0.8, -0.8, 0.0], [0.8, 0.8, 0.0], [0.0, 0.0, 0.4]])[part]
            spread = torch.tensor([[1.0, 1.0, 0.05], [0.1, 0.1, 0.9], [0.1, 0.1, 0.9], [0.8, 0.1, 0.1]])[part]
            self.clouds.append(base + spread * (torch.rand(NUM_POINTS, 3, generator=g) * 2 - 1))
            self.labels.append(part)

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, i):
        pos = self.clouds[i]
        if self.with_normals:
            return {'pos': pos, 'x': F.normalize(pos, dim=-1), 'y': self.labels[i]}
        return {'pos': pos, 'y': self.labels[i]}


def mlp(channels):
    layers = []
    for a, b in zip(channels[:-1], channels[1:]):
        layers += [nn.Linear(a, b), nn.ReLU(), nn.LayerNorm(b)]
    return nn.Sequential(*layers)


def gather(t, idx):
    b = torch.arange(t.size(0)).view(-1, *([1] * (idx.dim() - 1)))
    return t[b, idx]


class SAModule(nn.Module):
    def __init__(self, ratio, k, net):
        super().__init__()
        self.ratio, self.k, self.net = ratio, k, net

    def forward(self, x, pos):
        n = int(pos.size(1) * self.ratio)
        centers = pos[:, torch.randperm(pos.size(1))[:n]]
        idx = torch.cdist(centers, pos).topk(self.k, largest=False).indices
        rel = gather(pos, idx) - centers.unsqueeze(2)
        msg = rel if x is None else torch.cat([gather(x, idx), rel], dim=-1)
        return self.net(msg).max(dim=2)[0], centers


class GlobalSAModule(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, pos):
        out = self.net(torch.cat([x, pos], dim=-1)).max(dim=1, keepdim=True)[0]
        return out, pos.new_zeros(pos.size(0), 1, 3)


class FPModule(nn.Module):
    def __init__(self, k, net):
        super().__init__()
        self.k, self.net = k, net

    def forward(self, x, pos, x_skip, pos_skip):
        dist, idx = torch.cdist(pos_skip, pos).topk(self.k, largest=False)
        w = 1.0 / (dist ** 2 + 1e-8)
        w = w / w.sum(-1, keepdim=True)
        x = (gather(x, idx) * w.unsqueeze(-1)).sum(2)
        if x_skip is not None:
            x = torch.cat([x, x_skip], dim=-1)
        return self.net(x), pos_skip


class PartSegNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.sa1_module = SAModule(0.25, 16, mlp([3, 32, 32, 64]))
        self.sa2_module = SAModule(0.25, 8, mlp([64 + 3, 64, 128]))
        self.sa3_module = GlobalSAModule(mlp([128 + 3, 128, 256]))
        self.fp3_module = FPModule(1, mlp([256 + 128, 128]))
        self.fp2_module = FPModule(3, mlp([128 + 64, 64]))
        self.fp1_module = FPModule(3, mlp([64, 64, 64]))
        self.lin = nn.Linear(64, num_classes)

    def forward(self, data):
        sa0 = (data.get('x'), data['pos'])
        sa1 = self.sa1_module(*sa0)
        sa2 = self.sa2_module(*sa1)
        sa3 = self.sa3_module(*sa2)
        fp3 = self.fp3_module(*sa3, *sa2)
        fp2 = self.fp2_module(*fp3, *sa1)
        x, _ = self.fp1_module(*fp2, *sa0)
        return F.log_softmax(self.lin(F.dropout(x, 0.3, self.training)), dim=-1)


torch.manual_seed(12)
train_loader = DataLoader(TableParts(48), batch_size=8, shuffle=True)
model = PartSegNet(NUM_PARTS)
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)

for epoch in range(1, 4):
    model.train()
    correct, losses = 0, []
    for data in train_loader:
        optimizer.zero_grad()
        out = model(data)
        loss = F.nll_loss(out.flatten(0, 1), data['y'].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        correct += (out.argmax(-1) == data['y']).sum().item()
    print(f'[{epoch}] Loss: {np.mean(losses):.4f} Train Acc: {correct / (48 * NUM_POINTS):.4f}')
