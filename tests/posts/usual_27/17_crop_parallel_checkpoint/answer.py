import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CROPS = ["wheat", "maize", "rape", "beet"]


class CropNet(nn.Module):
    """Monthly reflectance of a field (bands x months) to a crop."""

    def __init__(self, bands=6, months=12, n_crops=len(CROPS)):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(bands, 32, 3, padding=1),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Conv1d(32, 32, 3, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Linear(32 * months, n_crops)

    def forward(self, x):
        return self.head(self.encoder(x).flatten(1))


def fields(n, seed, bands=6, months=12):
    g = torch.Generator().manual_seed(seed)
    crop = torch.randint(len(CROPS), (n,), generator=g)
    peak = torch.tensor([4.0, 7.0, 3.0, 8.0])[crop].view(-1, 1, 1)
    month = torch.arange(months).float()
    curve = torch.exp(-((month - peak) ** 2) / 4)
    gain = torch.linspace(0.3, 1.0, bands).view(1, -1, 1)
    return TensorDataset(gain * curve + 0.25 * torch.randn(n, bands, months, generator=g), crop)


class Session:
    def __init__(self, folder, lr=1e-3):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.DataParallel(CropNet().to(self.device))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()
        self.path = os.path.join(folder, "best.pt")
        self.best = 0.0

    def train(self, loader):
        self.model.train()
        for x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad()
            self.criterion(self.model(x), y).backward()
            self.optimizer.step()

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        hits = n = 0
        for x, y in loader:
            hits += (self.model(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            n += len(y)
        return hits / n

    def save(self, epoch, accuracy):
        weights = self.model.module.state_dict()
        torch.save({"epoch": epoch, "accuracy": accuracy, "weights": weights}, self.path)

    def run(self, train_loader, valid_loader, epochs):
        for epoch in range(epochs):
            self.train(train_loader)
            accuracy = self.score(valid_loader)
            print(f"epoch {epoch} accuracy {accuracy:.3f}")
            if accuracy > self.best:
                self.best = accuracy
                self.save(epoch, accuracy)


def load_for_prediction(path):
    model = CropNet()
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["weights"])
    return model.eval(), checkpoint["epoch"]


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(folder)
        session.run(
            DataLoader(fields(400, 0), batch_size=32, shuffle=True),
            DataLoader(fields(100, 1), batch_size=50),
            epochs=4,
        )
        model, epoch = load_for_prediction(session.path)
        x, y = fields(3, 2).tensors
        with torch.no_grad():
            names = [CROPS[k] for k in model(x).argmax(1).tolist()]
        print(f"from epoch {epoch}: {names}, truth {[CROPS[k] for k in y.tolist()]}")
