import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class RoadDataset(Dataset):
    """Road images with a lane mask (background / object) and a grid box of the vanishing point."""

    def __init__(self, n=48, size=(96, 128)):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        h, w = self.size
        image = torch.rand(3, h, w, generator=g) * 0.3
        left = int(torch.randint(10, w - 30, (1,), generator=g))
        mask = torch.zeros(h, w, dtype=torch.long)
        mask[h // 2:, left:left + 12] = 1
        image[:, mask.bool()] += 0.6
        objectmask = F.one_hot(mask, num_classes=2).permute(2, 0, 1)
        vanishing = torch.tensor([(left + 6) / w, 0.5])
        return image, objectmask, vanishing


class VPNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        self.objectmask = nn.Sequential(nn.Conv2d(32, 2 * 16, 3, padding=1), nn.PixelShuffle(4))
        self.vp = nn.Sequential(nn.AdaptiveAvgPool2d((4, 4)), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(),
                                nn.Linear(64, 2), nn.Sigmoid())

    def forward(self, x):
        feats = self.shared(x)
        return self.objectmask(feats), self.vp(feats)


def train_epoch(model, loader, optimizer, mask_loss, vp_loss, vp_weight):
    model.train()
    totals = [0.0, 0.0]
    for image, objectmask, vanishing in loader:
        pred_mask, pred_vp = model(image)
        loss_mask = mask_loss(pred_mask, objectmask.argmax(dim=1))
        loss_vp = vp_loss(pred_vp, vanishing)
        loss = loss_mask + vp_weight * loss_vp
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals[0] += loss_mask.item()
        totals[1] += loss_vp.item()
    return [t / len(loader) for t in totals]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch-size', type=int, default=4)
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--vp-weight', type=float, default=2.0)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(RoadDataset(), batch_size=args.batch_size, shuffle=True)
    model = VPNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    mask_loss = nn.CrossEntropyLoss()
    vp_loss = nn.MSELoss()
    for epoch in range(args.epochs):
        lm, lv = train_epoch(model, loader, optimizer, mask_loss, vp_loss, args.vp_weight)
        print(f'epoch {epoch + 1}: objectmask {lm:.4f}, vp {lv:.4f}')


if __name__ == '__main__':
    main()
