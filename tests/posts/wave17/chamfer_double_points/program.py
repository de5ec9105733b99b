import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class EllipsoidDataset(Dataset):
    """Silhouettes of ellipsoids and points sampled from their surface."""

    def __init__(self, n, num_points=256, seed=0):
        rng = np.random.RandomState(seed)
        self.items = []
        ys, xs = np.mgrid[-1:1:32j, -1:1:32j]
        for _ in range(n):
            radii = rng.uniform(0.3, 0.9, size=3)
            image = ((xs / radii[0]) ** 2 + (ys / radii[1]) ** 2 < 1).astype(np.float32)
            normals = rng.normal(size=(num_points, 3))
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
            self.items.append((image[None], normals * radii))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        image, points = self.items[index]
        return torch.from_numpy(image), torch.from_numpy(points)


class ChamferLoss(nn.Module):
    def forward(self, pred, gt):
        inner = torch.bmm(pred, gt.transpose(1, 2))
        pred_sq = pred.pow(2).sum(-1, keepdim=True)
        gt_sq = gt.pow(2).sum(-1).unsqueeze(1)
        dist = pred_sq - 2 * inner + gt_sq
        dist1 = dist.min(dim=2)[0]
        dist2 = dist.min(dim=1)[0]
        return dist1.mean() + 0.55 * dist2.mean()


class Pixel2Points(nn.Module):
    def __init__(self, num_points=156):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 8 * 8, 128), nn.ReLU())
        g = torch.Generator().manual_seed(0)
        template = torch.randn(num_points, 3, generator=g)
        self.register_buffer('template', 0.5 * template / template.norm(dim=1, keepdim=True))
        self.deform = nn.Sequential(nn.Linear(128 + 3, 128), nn.ReLU(), nn.Linear(128, 3))

    def forward(self, image):
        code = self.encoder(image)
        verts = self.template.expand(len(image), -1, -1)
        code = code.unsqueeze(1).expand(-1, verts.shape[1], -1)
        return verts + self.deform(torch.cat([code, verts], dim=-1))


def train(model, loader, optimizer, criterion):
    model.train()
    running = 0.0
    for image, points in loader:
        pred = model(image)
        loss = criterion(pred, points)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--lr', type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(EllipsoidDataset(256), batch_size=args.batch_size, shuffle=True)
    model = Pixel2Points()
    criterion = ChamferLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        print(f'epoch {epoch}: chamfer {train(model, loader, optimizer, criterion):.5f}')


if __name__ == '__main__':
    main()
