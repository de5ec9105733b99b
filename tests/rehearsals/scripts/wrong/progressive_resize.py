import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZES = [24, 32, 32]
BATCH = 12


class Fonts(Dataset):
    """Letters as blobs; the picture is made at the size that is asked for."""

    def __init__(self, count, letters=8):
        rng = np.random.RandomState(1)
        self.letters = rng.randint(0, letters, count)
        self.shapes = rng.rand(letters, 6, 6)
        self.noise = rng.rand(count, 6, 6) * 0.3
        self.size = SIZES[0]

    def set_size(self, size):
        self.size = size

    def __len__(self):
        return len(self.letters)

    def __getitem__(self, i):
        picture = self.shapes[self.letters[i]] + self.noise[i]
        picture = torch.from_numpy(picture).float()[None, None]
        picture = F.interpolate(picture, size=(self.size, self.size), mode="bilinear", align_corners=False)
        return picture[0], self.letters[i]


class FontNet(nn.Module):
    def __init__(self, letters=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(16 * 6 * 6, letters)

    def forward(self, x):
        x = self.conv(x)
        return self.fc(x.view(x.size(0), -1))


torch.manual_seed(0)
dataset = Fonts(60)
model = FontNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch, size in enumerate(SIZES):
    dataset.set_size(size)
    loader = DataLoader(dataset, batch_size=BATCH, shuffle=True)
    seen = right = 0
    for pictures, letters in loader:
        logits = model(pictures)
        loss = criterion(logits, letters)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += letters.size(0)
        right += (logits.argmax(1) == letters).sum().item()
    print(f"epoch {epoch} at {size} px: loss {loss.item():.4f}, accuracy {right / seen:.3f}")
