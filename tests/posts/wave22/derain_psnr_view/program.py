import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(8)


class RainPairs(Dataset):
    def __init__(self, n, height=40, width=56):
        base = torch.rand(n, 3, 5, 7)
        self.clean = F.interpolate(base, size=(height, width), mode="bilinear", align_corners=False)
        streaks = (torch.rand(n, 1, height, width) < 0.05).float() * 0.6
        self.rainy = (self.clean + streaks).clamp(0, 1)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, idx):
        return self.rainy[idx], self.clean[idx]


class DerainNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 3, 3, padding=1),
        )

    def forward(self, x):
        return x - self.body(x)


def rgb_to_y(img):
    img = img.astype(np.float64)
    return 16.0 + 65.481 * img[..., 0] + 128.553 * img[..., 1] + 24.966 * img[..., 2]


def to_image(batch):
    return batch[0].view(batch.shape[2], batch.shape[3], 3).detach().cpu().numpy()


def calc_psnr(pred, target):
    im1 = rgb_to_y(to_image(pred))
    im2 = rgb_to_y(to_image(target))
    mse = np.mean((im1 - im2) ** 2)
    return 10 * np.log10(255.0 ** 2 / mse)


def validate(net, loader):
    net.eval()
    scores = []
    with torch.no_grad():
        for rainy, clean in loader:
            pred = net(rainy.to(device)).clamp(0, 1)
            scores.append(calc_psnr(pred, clean.to(device)))
    return sum(scores) / len(scores)


if __name__ == "__main__":
    train_loader = DataLoader(RainPairs(64), batch_size=8, shuffle=True)
    val_loader = DataLoader(RainPairs(16), batch_size=1)
    net = DerainNet().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    print(f"before training: psnr {validate(net, val_loader):.2f}")
    for epoch in range(4):
        net.train()
        for rainy, clean in train_loader:
            rainy, clean = rainy.to(device), clean.to(device)
            loss = F.smooth_l1_loss(net(rainy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.5f}, psnr {validate(net, val_loader):.2f}")
