import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SpectraDataset(Dataset):
    """Raw spectrometer counts with a per-channel mean and std."""

    def __init__(self, spectra, targets, mean=None, std=None):
        self.spectra = spectra
        self.targets = targets
        self.mean = spectra.mean(dim=0) if mean is None else mean
        self.std = spectra.std(dim=0) if std is None else std

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        sample = self.spectra[idx]
        sample.sub_(self.mean).div_(self.std)
        return sample, self.targets[idx]


class ConvRegressor(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 8, 9, padding=4), nn.Tanh(), nn.AvgPool1d(4),
            nn.Conv1d(8, 16, 5, padding=2), nn.Tanh(), nn.AvgPool1d(4),
        )
        self.fc = nn.Linear(16 * (length // 16), 1)

    def forward(self, x):
        h = self.conv(x.unsqueeze(1))
        return self.fc(h.flatten(1)).squeeze(1)


def main():
    torch.manual_seed(0)
    n, length = 360, 64
    conc = torch.rand(n)
    peak = torch.exp(-((torch.arange(length) - 30.0) ** 2) / 40)
    spectra = 500 + 200 * conc[:, None] * peak + 20 * torch.randn(n, length)
    train_ds = SpectraDataset(spectra[:300], conc[:300])
    val_ds = SpectraDataset(spectra[300:], conc[300:], train_ds.mean, train_ds.std)
    train_loader = DataLoader(train_ds, batch_size=30, shuffle=True)
    val_loader = DataLoader(val_ds, batch_size=60)

    model = ConvRegressor(length)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        train_loss = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            val_loss = sum(criterion(model(x), y).item() * len(y) for x, y in val_loader)
        print(f"epoch {epoch}: train {train_loss / 300:.5f} val {val_loss / 60:.5f}")


if __name__ == "__main__":
    main()
