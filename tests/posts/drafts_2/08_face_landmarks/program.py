import math

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader, random_split

torch.manual_seed(2)

N_POINTS = 5
IMG = 32


class LandmarkDataset(Dataset):
    """Images with five dots; targets are the dots' (x, y) in [0, 1]."""

    def __init__(self, n):
        self.points = 0.3 + 0.4 * torch.rand(n, 1, 2) + 0.2 * torch.tensor(
            [[-1.0, -1.0], [1.0, -1.0], [0.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])
        grid = torch.arange(IMG) / (IMG - 1)
        dx = grid.view(1, 1, 1, IMG) - self.points[..., 0].view(n, N_POINTS, 1, 1)
        dy = grid.view(1, 1, IMG, 1) - self.points[..., 1].view(n, N_POINTS, 1, 1)
        self.images = torch.exp(-(dx ** 2 + dy ** 2) * 200).sum(1, keepdim=True)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.points[i]


class LandmarkNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.regressor = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 8 * 8, 128), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(128, N_POINTS * 2),
        )

    def forward(self, x):
        return self.regressor(self.features(x))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.SmoothL1Loss()
        self.optimizer = optim.Adam(model, lr=lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for images, points in self.train_loader:
            self.optimizer.zero_grad()
            pred = self.model(images)
            loss = self.criterion(pred, points)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * images.size(0)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def validate(self):
        err, count = 0.0, 0
        for images, points in self.val_loader:
            pred = self.model(images).view(-1, N_POINTS, 2)
            err += (pred - points).norm(dim=-1).sum().item()
            count += images.size(0) * N_POINTS
        return err / count * IMG

    def fit(self, epochs):
        best = math.inf
        for epoch in range(epochs):
            train_loss = self.train_epoch()
            val_err = self.validate()
            best = min(best, val_err)
            print(f"[{epoch}] train {train_loss:.4f}  val error {val_err:.2f} px")
        print(f"best: {best:.2f} px")


dataset = LandmarkDataset(400)
train_set, val_set = random_split(dataset, [320, 80])
trainer = Trainer(
    LandmarkNet(),
    DataLoader(train_set, batch_size=20, shuffle=True),
    DataLoader(val_set, batch_size=20),
)
trainer.fit(epochs=4)
