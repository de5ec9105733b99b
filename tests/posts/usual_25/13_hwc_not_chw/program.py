import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import Dataset, DataLoader


class FrameDataset(Dataset):
    """Steering angles from dash camera frames, as cv2 would read them (H, W, C, uint8)."""

    def __init__(self, n=120, height=66, width=200):
        rng = np.random.RandomState(3)
        self.angles = rng.uniform(-1, 1, n).astype(np.float32)
        self.frames = rng.randint(0, 80, (n, height, width, 3)).astype(np.uint8)
        for frame, angle in zip(self.frames, self.angles):
            col = int((angle + 1) / 2 * (width - 10))
            frame[30:, col : col + 10] = 255

    def __len__(self):
        return len(self.angles)

    def __getitem__(self, index):
        image = self.frames[index].astype(np.float32) / 127.5 - 1.0
        image = torch.from_numpy(image)
        return image, torch.tensor(self.angles[index])


class PilotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2), nn.ELU(),
            nn.Conv2d(24, 36, 5, stride=2), nn.ELU(),
            nn.Conv2d(36, 48, 5, stride=2), nn.ELU(),
            nn.Conv2d(48, 64, 3), nn.ELU(),
            nn.Conv2d(64, 64, 3), nn.ELU(),
        )
        self.dense = nn.Sequential(
            nn.Linear(64 * 1 * 18, 100), nn.ELU(),
            nn.Linear(100, 50), nn.ELU(),
            nn.Linear(50, 1),
        )

    def forward(self, x):
        x = self.conv(x)
        x = x.view(x.size(0), -1)
        return self.dense(x).squeeze(1)


def train(epochs=3, batch_size=20, lr=1e-3):
    torch.manual_seed(3)
    loader = DataLoader(FrameDataset(), batch_size=batch_size, shuffle=True)
    net = PilotNet()
    optimizer = optim.Adam(net.parameters(), lr=lr)
    mse = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for images, angles in loader:
            optimizer.zero_grad()
            loss = mse(net(images), angles)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d  mse %.4f" % (epoch, total / len(loader)))
    return net


if __name__ == "__main__":
    train()
