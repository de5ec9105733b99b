import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


def block(in_ch, out_ch):
    return nn.Sequential(
        nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(),
        nn.Conv2d(out_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU())


class BiUNet(nn.Module):
    """U-Net whose decoder features are fed back into the encoder for some rounds."""

    def __init__(self, in_ch=3, num_classes=2, width=16, iterations=2):
        super().__init__()
        self.iterations = iterations
        self.stem = block(in_ch, width)
        self.enc1 = block(2 * width, width)
        self.enc2 = block(2 * width, width)
        self.mid = block(width, width)
        self.up2 = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.dec2 = block(2 * width, width)
        self.up1 = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.dec1 = block(2 * width, width)
        self.head = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        x = self.stem(x)
        back1, back2 = x, None
        for _ in range(self.iterations):
            f1 = self.enc1(torch.cat([x, back1], dim=1))
            p1 = F.max_pool2d(f1, 2)
            f2 = self.enc2(torch.cat([p1, p1 if back2 is None else back2], dim=1))
            m = self.mid(F.max_pool2d(f2, 2))
            back2 = self.dec2(torch.cat([self.up2(m), f2], dim=1))
            back1 = self.dec1(torch.cat([self.up1(back2), f1], dim=1))
        return self.head(back1)


class NucleiDataset(Dataset):
    def __init__(self, count, size=64):
        rng = np.random.RandomState(count)
        self.images = rng.rand(count, size, size, 3).astype(np.float32)
        yy, xx = np.mgrid[:size, :size]
        centres = rng.randint(10, size - 10, (count, 2))
        self.masks = np.stack([((yy - a) ** 2 + (xx - b) ** 2 < 80).astype(np.float32) for a, b in centres])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).permute(2, 0, 1)
        mask = torch.from_numpy(self.masks[i]).unsqueeze(0)
        return image, mask


class SegmentationLoss(nn.Module):
    def __init__(self, weight=None):
        super().__init__()
        self.weight = weight

    def forward(self, predicted, target):
        log_p = F.log_softmax(predicted, dim=1)
        ce = F.nll_loss(log_p, target, weight=self.weight)
        p = log_p.exp()[:, 1]
        t = target.float()
        dice = (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)
        return ce + 1 - dice


def train(epochs=2):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    model = BiUNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=3e-5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)
    criterion = SegmentationLoss()
    train_loader = DataLoader(NucleiDataset(6), batch_size=1, shuffle=True)
    for epoch in range(epochs):
        model.train()
        losses = []
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            output = model(x)
            loss = criterion(output, y.long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        print('epoch %d, loss %.4f' % (epoch + 1, np.mean(losses)))


if __name__ == '__main__':
    train()
