import os
import tempfile

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

CKPT = os.path.join(tempfile.mkdtemp(), "wafer_cnn.pt")
DEFECTS = ["none", "scratch", "ring", "edge"]


class WaferCNN(nn.Module):
    def __init__(self, num_classes=4, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.block = nn.Sequential(
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
        )
        self.fc = nn.Linear(2 * width, num_classes)

    def forward(self, x):
        x = self.block(self.stem(x))
        return self.fc(x.mean(dim=(2, 3)))


def train():
    maps = torch.rand(160, 1, 26, 26)
    labels = torch.randint(0, 4, (160,))
    loader = DataLoader(TensorDataset(maps, labels), batch_size=32, shuffle=True)
    model = WaferCNN()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")
    torch.save(model.state_dict(), CKPT)


def load_model(path, device):
    model = WaferCNN().to(device)
    weights = torch.load(path, map_location=device)
    model = model.load_state_dict(weights)
    return model


def predict(model, maps, device):
    with torch.no_grad():
        scores = model(maps.to(device)).softmax(dim=1)
    conf, idx = scores.max(dim=1)
    return [(DEFECTS[i], round(c, 3)) for i, c in zip(idx.tolist(), conf.tolist())]


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load_model(CKPT, device)
    for p in model.parameters():
        p.requires_grad_(False)
    model.eval()
    for name, conf in predict(model, torch.rand(5, 1, 26, 26), device):
        print(name, conf)
