import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

CLASSES = ["background", "road", "car"]


def fake_scene(seed, size=64):
    rng = np.random.default_rng(seed)
    mask = np.zeros((size, size), dtype=np.uint8)
    mask[size // 2:, :] = 1
    x = rng.integers(0, size - 16)
    mask[size // 2 + 4:size // 2 + 16, x:x + 16] = 2
    colors = np.array([[120, 160, 220], [90, 90, 90], [200, 30, 30]], dtype=np.uint8)
    return Image.fromarray(colors[mask]), Image.fromarray(mask)


class RoadDataset(Dataset):
    def __init__(self, n=16):
        self.n = n
        self.to_tensor = transforms.Compose([
            transforms.ToTensor(),
            transforms.Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        ])

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        image, mask = fake_scene(idx)
        mask = torch.from_numpy(np.array(mask)).long().unsqueeze(0)
        return self.to_tensor(image), mask


class SmallFCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        )
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.out = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        return self.out(torch.relu(self.up(self.down(x))))


def train():
    loader = DataLoader(RoadDataset(), batch_size=4, shuffle=True)
    net = SmallFCN(len(CLASSES))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        for images, masks in loader:
            optimizer.zero_grad()
            outputs = net(images)
            loss = criterion(outputs, masks)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    train()
