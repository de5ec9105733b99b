from typing import Any, Dict, List

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class LeafDataset(Dataset):
    """green blobs with spots, stripes, holes or nothing on them"""

    classnames = ['healthy', 'spots', 'stripes', 'holes']

    def __init__(self, n=240, size=24, seed=0):
        rng = np.random.default_rng(seed)
        self.items = []
        yy, xx = np.mgrid[0:size, 0:size]
        for i in range(n):
            kind = i % 4
            img = np.stack([0.1 + 0 * xx, 0.6 + 0 * xx, 0.1 + 0 * xx]).astype('float32')
            if kind == 1:
                img[0, rng.random((size, size)) > 0.9] = 0.9
            elif kind == 2:
                img[2, (xx + rng.integers(0, 6)) % 6 < 2] = 0.8
            elif kind == 3:
                cy, cx = rng.integers(6, size - 6, 2)
                img[:, (yy - cy) ** 2 + (xx - cx) ** 2 < 20] = 0
            img += 0.05 * rng.standard_normal(img.shape).astype('float32')
            self.items.append((img, kind))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        img, kind = self.items[idx]
        return {'input': torch.from_numpy(img), 'target': kind}


class MixupCollator:
    def __init__(self, num_classes, alpha=0.4, prob=0.5):
        self.num_classes, self.alpha, self.prob = num_classes, alpha, prob

    def __call__(self, batch: List[Dict[str, Any]]):
        inputs = torch.stack([s['input'] for s in batch])
        targets = torch.tensor([s['target'] for s in batch])
        if np.random.rand() < self.prob:
            lam = float(np.random.beta(self.alpha, self.alpha))
            perm = torch.randperm(len(batch))
            inputs = lam * inputs + (1 - lam) * inputs[perm]
            hard = F.one_hot(targets, self.num_classes).float()
            targets = lam * hard + (1 - lam) * hard[perm]
        return {'inputs': inputs, 'targets': targets}


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, outputs: Dict[str, Any], batch: Dict[str, Any], device: torch.device):
        logits = outputs['outputs']
        targets = batch['targets'].to(device)
        num_classes = logits.shape[-1]
        if logits.shape != targets.shape:
            targets = F.one_hot(targets, num_classes=num_classes).float()
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, targets, reduction='none')
        p_t = p * targets + (1 - p) * (1 - targets)
        alpha_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        loss = (alpha_t * ce * (1 - p_t) ** self.gamma).sum(dim=1).mean()
        return loss, {'L': loss.item()}


class LeafModel(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, num_classes))

    def forward(self, batch, device):
        return {'outputs': self.body(batch['inputs'].to(device))}


def main():
    np.random.seed(11)
    torch.manual_seed(11)
    device = torch.device('cpu')
    trainset = LeafDataset()
    num_classes = len(trainset.classnames)
    loader = DataLoader(trainset, batch_size=24, shuffle=True, collate_fn=MixupCollator(num_classes))
    model = LeafModel(num_classes).to(device)
    criterion = FocalLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(4):
        running = []
        for batch in loader:
            outputs = model(batch, device)
            loss, loss_dict = criterion(outputs, batch, device)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running.append(loss_dict['L'])
        print('epoch', epoch, '| L: %.5f' % np.mean(running))


if __name__ == '__main__':
    main()
