import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


def draw_gaussian(heatmap, center, radius=5):
    x, y = center
    h, w = heatmap.shape
    yy, xx = np.ogrid[:h, :w]
    g = np.exp(-((xx - x) ** 2 + (yy - y) ** 2) / (2 * (radius / 3) ** 2))
    np.maximum(heatmap, g, out=heatmap)
    return heatmap


class CourtDataset(Dataset):
    """frames of matches and the heatmaps of the 14 points where the lines of the court meet"""

    base = np.array([(10, 8), (54, 8), (4, 40), (60, 40), (15, 8), (10, 40), (49, 8), (53, 40), (14, 15), (50, 15),
                     (11, 30), (53, 30), (32, 15), (32, 30)], dtype=np.float32)

    def __init__(self, mode, n=48, h=48, w=64):
        self.rng = np.random.RandomState(0 if mode == 'train' else 1)
        self.shifts = self.rng.randint(-3, 4, (n, 2))
        self.h, self.w = h, w

    def __len__(self):
        return len(self.shifts)

    def __getitem__(self, idx):
        kps = self.base + self.shifts[idx]
        hm_hp = np.zeros((15, self.h, self.w), dtype=np.float32)
        for i, kp in enumerate(kps):
            draw_gaussian(hm_hp[i], kp)
        draw_gaussian(hm_hp[14], kps.mean(0))
        img = np.repeat(hm_hp[:14].max(0, keepdims=True), 3, axis=0) + self.rng.rand(3, self.h, self.w) * 0.3
        return img.astype(np.float32), hm_hp, kps.astype(int)


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(cout))


class TrackNet(nn.Module):
    def __init__(self, out_channels=15):
        super().__init__()
        self.down1, self.down2 = ConvBlock(3, 16), ConvBlock(16, 32)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.mid, self.up1 = ConvBlock(32, 32), ConvBlock(32, 16)
        self.out = nn.Conv2d(16, out_channels, 3, padding=1)

    def forward(self, x):
        x = self.pool(self.down2(self.pool(self.down1(x))))
        return self.out(self.up1(self.up(self.up(self.mid(x)))))


def train(model, train_loader, optimizer, criterion, device, epoch):
    model.train()
    losses = []
    for iter_id, batch in enumerate(train_loader):
        out = model(batch[0].to(device))
        gt_hm_hp = batch[1].to(device)
        loss = criterion(torch.sigmoid(out), gt_hm_hp)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print('train, epoch = {}, loss = {:.6f}'.format(epoch, np.mean(losses)))


def val(model, val_loader, criterion, device, epoch, max_dist=3):
    model.eval()
    losses, tp, total = [], 0, 0
    with torch.no_grad():
        for batch in val_loader:
            pred = torch.sigmoid(model(batch[0].to(device)))
            losses.append(criterion(pred, batch[1].to(device)).item())
            flat = pred[:, :14].flatten(2).argmax(2).cpu()
            xy = torch.stack((flat % pred.shape[3], flat // pred.shape[3]), dim=-1)
            tp += ((xy - batch[2]).float().norm(dim=-1) < max_dist).sum().item()
            total += flat.numel()
    print('val, epoch = {}, loss = {:.6f}, accuracy = {:.3f}'.format(epoch, np.mean(losses), tp / total))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--num_epochs', type=int, default=3)
    parser.add_argument('--lr', type=float, default=1e-3)
    args = parser.parse_args()
    device = 'cuda' if torch.cuda.is_available() else 'cpu'

    train_loader = DataLoader(CourtDataset('train'), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(CourtDataset('val', n=16), batch_size=args.batch_size)
    model = TrackNet().to(device)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.999), weight_decay=0)
    for epoch in range(args.num_epochs):
        train(model, train_loader, optimizer, criterion, device, epoch)
        val(model, val_loader, criterion, device, epoch)
