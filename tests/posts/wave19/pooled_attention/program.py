import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm
from torch.utils.data import DataLoader, Dataset


class KeywordSpectrograms(Dataset):
    """Log mel patches, 84 bands by 28 frames, of five spoken words."""

    def __init__(self, n, seed, n_mels=84, n_frames=28):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 5, n)
        mel = np.arange(n_mels)[:, None]
        frame = np.arange(n_frames)[None, :]
        patches = []
        for label in self.y:
            centre = 10 + 14 * label + (label - 2) * frame * 0.4 + rng.normal(0, 1.5)
            ridge = np.exp(-0.5 * ((mel - centre) / 3.0) ** 2)
            patches.append(ridge + 0.15 * rng.normal(size=(n_mels, n_frames)))
        self.x = np.stack(patches)[:, None].astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])


def conv1x1(in_c, out_c):
    return spectral_norm(nn.Conv2d(in_c, out_c, 1, bias=False))


class PooledSelfAttention2d(nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.n_channels = n_channels
        self.theta = conv1x1(n_channels, n_channels // 8)
        self.phi = conv1x1(n_channels, n_channels // 8)
        self.g = conv1x1(n_channels, n_channels // 2)
        self.o = conv1x1(n_channels // 2, n_channels)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        n_pos = x.shape[2] * x.shape[3]
        theta = self.theta(x)
        phi = F.max_pool2d(self.phi(x), [2, 2])
        g = F.max_pool2d(self.g(x), [2, 2])
        theta = theta.view(-1, self.n_channels // 8, n_pos)
        phi = phi.view(-1, self.n_channels // 8, n_pos // 4)
        g = g.view(-1, self.n_channels // 2, n_pos // 4)
        beta = F.softmax(torch.bmm(theta.transpose(1, 2), phi), dim=-1)
        o = torch.bmm(g, beta.transpose(1, 2)).view(-1, self.n_channels // 2, x.shape[2], x.shape[3])
        return self.gamma * self.o(o) + x


def conv_block(in_c, out_c, stride):
    return nn.Sequential(
        nn.Conv2d(in_c, out_c, 3, stride, 1, bias=False),
        nn.BatchNorm2d(out_c),
        nn.ReLU(inplace=True),
    )


class KeywordNet(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.body = nn.Sequential(
            conv_block(1, 16, 2),
            conv_block(16, 32, 2),
            PooledSelfAttention2d(32),
            conv_block(32, 48, 2),
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, n_classes))

    def forward(self, x):
        return self.head(self.body(x))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(KeywordSpectrograms(320, 0), batch_size=32, shuffle=True)
    valid_loader = DataLoader(KeywordSpectrograms(100, 1), batch_size=50)
    model = KeywordNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in valid_loader)
        print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {hits / len(valid_loader.dataset):.2f}")


if __name__ == "__main__":
    main()
