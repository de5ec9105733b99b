import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

SIZE = 32
CHANNELS = 32
FLAT = CHANNELS * 8 * 8
SIGNS = ["stop", "yield", "parking", "speed"]


def draw_sign(kind, rng):
    image = Image.new("RGB", (48, 48), tuple(int(v) for v in rng.integers(60, 200, 3)))
    pen = ImageDraw.Draw(image)
    dx, dy = (int(v) for v in rng.integers(-3, 4, 2))
    if kind == 0:
        pen.regular_polygon((24 + dx, 24 + dy, 18), 8, fill=(190, 20, 20))
    elif kind == 1:
        pen.regular_polygon((24 + dx, 24 + dy, 18), 3, rotation=180, fill=(240, 240, 240))
    elif kind == 2:
        pen.rectangle((8 + dx, 8 + dy, 40 + dx, 40 + dy), fill=(20, 60, 190))
    else:
        pen.ellipse((7 + dx, 7 + dy, 41 + dx, 41 + dy), fill=(250, 250, 250), outline=(200, 0, 0), width=4)
    return image


class SignDataset(Dataset):
    def __init__(self, n, transform, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(SIGNS), n)
        self.images = [draw_sign(k, rng) for k in self.labels]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.labels[i])


class SignNet(nn.Module):
    def __init__(self, num_classes):
        super(SignNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, CHANNELS, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.bn2 = nn.BatchNorm2d(CHANNELS)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(FLAT, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = x.view(-1, FLAT)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


train_tf = transforms.Compose([
    transforms.Resize(36),
    transforms.RandomCrop(SIZE),
    transforms.ColorJitter(0.2, 0.2),
    transforms.ToTensor(),
])
test_tf = transforms.Compose([transforms.Resize(36), transforms.CenterCrop(SIZE), transforms.ToTensor()])

torch.manual_seed(0)
train_loader = DataLoader(SignDataset(160, train_tf), batch_size=16, shuffle=True)
test_loader = DataLoader(SignDataset(64, test_tf, seed=1), batch_size=16)
net = SignNet(len(SIGNS))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(3):
    net.train()
    losses = []
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        correct = sum((net(im).argmax(1) == la).sum().item() for im, la in test_loader)
    print(f"epoch {epoch} loss {np.mean(losses):.3f} accuracy {correct / 64:.3f}")
