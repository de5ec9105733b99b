import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, n, height, width):
        self.n = n
        self.shape = (3, height, width)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        clean = torch.rand(self.shape)
        sigma = torch.tensor(0.2 * (i % 10) / 10)
        return clean + sigma * torch.randn(self.shape), clean, sigma


class FFDNet(nn.Module):
    def __init__(self, width=96, depth=12):
        super().__init__()
        layers = [nn.Conv2d(13, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        layers += [nn.Conv2d(width, 12, 3, padding=1)]
        self.net = nn.Sequential(*layers)

    def forward(self, noisy, sigma):
        x = F.pixel_unshuffle(noisy, 2)
        noise_map = sigma.view(-1, 1, 1, 1).expand(-1, 1, x.shape[2], x.shape[3])
        return F.pixel_shuffle(self.net(torch.cat([x, noise_map], dim=1)), 2)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_loader = DataLoader(Images(1280, 64, 64), batch_size=64, shuffle=True)
val_loader = DataLoader(Images(100, 480, 640), batch_size=1)
model = FFDNet().to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(80):
    model.train()
    train_losses = 0
    for noisy, clean, sigma in train_loader:
        noisy, clean, sigma = noisy.to(device), clean.to(device), sigma.to(device)
        optimizer.zero_grad()
        train_loss = criterion(model(noisy, sigma), clean)
        train_loss.backward()
        optimizer.step()
        train_losses += train_loss
    print("epoch", epoch, "train", float(train_losses) / len(train_loader))
    if (epoch + 1) % 5 == 0:
        model.eval()
        val_losses = 0
        for noisy, clean, sigma in val_loader:
            noisy, clean, sigma = noisy.to(device), clean.to(device), sigma.to(device)
            val_loss = criterion(model(noisy, sigma), clean)
            val_losses += val_loss
        print("epoch", epoch, "validation", float(val_losses) / len(val_loader))
