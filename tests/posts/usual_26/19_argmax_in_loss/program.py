import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MIN_AGE, MAX_AGE = 10, 79
N_BINS = MAX_AGE - MIN_AGE + 1


class VoiceAgeDataset(Dataset):
    """Log-mel summaries of a voice recording with the age of the speaker."""

    def __init__(self, n, n_mels=40, seed=0):
        rng = np.random.default_rng(seed)
        self.age = rng.integers(MIN_AGE, MAX_AGE + 1, n)
        slope = np.linspace(1.0, -1.0, n_mels)
        centred = (self.age - 45) / 20
        self.mels = centred[:, None] * slope + rng.normal(0, 0.5, (n, n_mels))

    def __len__(self):
        return len(self.age)

    def __getitem__(self, i):
        mel = torch.tensor(self.mels[i], dtype=torch.float32)
        return mel, torch.tensor(self.age[i], dtype=torch.float32)


class Encoder(nn.Module):
    def __init__(self, n_mels, width, depth, p):
        super().__init__()
        layers, d = [], n_mels
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p)]
            d = width
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class AgeModel(nn.Module):
    def __init__(self, n_mels=40, width=64, depth=2, p=0.1):
        super().__init__()
        self.encoder = Encoder(n_mels, width, depth, p)
        self.bins = nn.Linear(width, N_BINS)
        self.register_buffer("ages", torch.arange(MIN_AGE, MAX_AGE + 1).float())

    def forward(self, x):
        return self.bins(self.encoder(x))

    def to_years(self, logits):
        return self.ages[logits.argmax(dim=1)]


class AgeLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.to_years = model.to_years
        self.l1 = nn.SmoothL1Loss(beta=3.0)

    def forward(self, logits, age):
        return self.l1(self.to_years(logits), age)


def mean_abs_error(model, loader):
    model.eval()
    err = 0.0
    with torch.no_grad():
        for mel, age in loader:
            err += (model.to_years(model(mel)) - age).abs().sum().item()
    return err / len(loader.dataset)


def main():
    torch.manual_seed(10)
    train_loader = DataLoader(VoiceAgeDataset(600, seed=0), batch_size=50, shuffle=True)
    test_loader = DataLoader(VoiceAgeDataset(150, seed=1), batch_size=150)
    model = AgeModel()
    criterion = AgeLoss(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 6):
        model.train()
        total = 0.0
        for mel, age in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(mel), age)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(age)
        print(f"epoch {epoch}: loss {total / 600:.3f}  test MAE {mean_abs_error(model, test_loader):.2f} years")


if __name__ == "__main__":
    main()
