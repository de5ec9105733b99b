import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

# ---------------------------------------------------------------
# Convolutional autoencoder for seven-segment digits
# ---------------------------------------------------------------
SEGMENTS = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc",
            5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg"}
BOX = {"a": (4, 7, 8, 20), "b": (4, 15, 18, 21), "c": (14, 25, 18, 21), "d": (22, 25, 8, 20),
       "e": (14, 25, 7, 10), "f": (4, 15, 7, 10), "g": (13, 16, 8, 20)}


def draw(digit, rng):
    img = np.zeros((28, 28), dtype=np.uint8)
    for s in SEGMENTS[digit]:
        r0, r1, c0, c1 = BOX[s]
        img[r0:r1, c0:c1] = rng.integers(180, 256)
    img = np.roll(img, rng.integers(-2, 3, size=2), axis=(0, 1))
    noise = rng.integers(0, 25, size=img.shape)
    return np.clip(img.astype(int) + noise, 0, 255).astype(np.uint8)


class Digits(Dataset):
    def __init__(self, n, transform=None, seed=0):
        rng = np.random.default_rng(seed)
        self.targets = rng.integers(0, 10, size=n)
        self.data = [draw(int(d), rng) for d in self.targets]
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        img = self.data[i]
        if self.transform:
            img = self.transform(img)
        return img, int(self.targets[i])


transform = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])
train_data = Digits(512, transform, seed=0)
test_data = Digits(128, transform, seed=1)
train_loader = DataLoader(train_data, batch_size=32, shuffle=True)
test_loader = DataLoader(test_data, batch_size=32)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),   # 14x14
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),  # 7x7
            nn.ReLU(),
            nn.Conv2d(32, 8, 7),                        # 1x1
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, 32, 7),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 3, stride=2, padding=1, output_padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(0)
model = Autoencoder()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(5):
    model.train()
    train_loss = 0.0
    for img, _ in train_loader:
        recon = model(img)
        loss = criterion(recon, img)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * img.size(0)
    print(f"Epoch:{epoch + 1}, Loss:{train_loss / len(train_data):.4f}")

model.eval()
test_loss = 0.0
with torch.no_grad():
    for img, _ in test_loader:
        test_loss += criterion(model(img), img).item() * img.size(0)
print(f"Test loss: {test_loss / len(test_data):.4f}")
