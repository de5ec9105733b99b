import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class VoxelScans(Dataset):
    """Occupancy grid of a lidar scan, completed grid and its semantic classes."""

    def __init__(self, n, grid=(32, 32, 8), classes=6, seed=0):
        rng = np.random.RandomState(seed)
        self.occ = (rng.rand(n, 1, *grid) > 0.9).astype(np.float32)
        self.sem = rng.randint(0, classes, (n, *grid))

    def __len__(self):
        return len(self.occ)

    def __getitem__(self, i):
        return {'3D_OCCUPANCY': self.occ[i], '3D_LABEL': self.sem[i]}


class CompletionNet(nn.Module):
    def __init__(self, classes=6, c=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv3d(1, c, 3, padding=1), nn.ReLU(), nn.Conv3d(c, c, 3, padding=1), nn.ReLU())
        self.comp_head = nn.Conv3d(c, 2, 1)
        self.sem_head = nn.Conv3d(c, classes, 1)

    def forward(self, data):
        f = self.enc(data['3D_OCCUPANCY'])
        return {'comp': self.comp_head(f), 'sem': self.sem_head(f)}

    def compute_loss(self, scores, data):
        sem = data['3D_LABEL']
        loss_sem = F.cross_entropy(scores['sem'], sem)
        loss_comp = F.cross_entropy(scores['comp'], (sem > 0).long())
        return {'total': loss_sem + loss_comp, 'semantic': loss_sem, 'completion': loss_comp}


def train(model, loader, optimizer):
    model.train()
    epoch_loss = {k: 0. for k in ('total', 'semantic', 'completion')}
    for data in loader:
        scores = model(data)
        loss = model.compute_loss(scores, data)
        optimizer.zero_grad()
        loss['total'].backward()
        optimizer.step()
        for key in epoch_loss:
            epoch_loss[key] += loss[key].item()
    return {k: v / len(loader) for k, v in epoch_loss.items()}


def validate(model, loader):
    model.eval()
    epoch_loss = {k: 0. for k in ('total', 'semantic', 'completion')}
    for data in loader:
        scores = model(data)
        loss = model.compute_loss(scores, data)
        for key in loss:
            epoch_loss[key] += loss[key].item()
    return {k: v / len(loader) for k, v in epoch_loss.items()}


torch.manual_seed(0)
net = CompletionNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
train_loader = DataLoader(VoxelScans(14), batch_size=4, shuffle=True)
val_loader = DataLoader(VoxelScans(10, seed=1), batch_size=4)
history = []
for epoch in range(2):
    history.append((train(net, train_loader, opt), validate(net, val_loader)))
    print('epoch', epoch, 'train', history[-1][0]['total'], 'val', history[-1][1]['total'])
