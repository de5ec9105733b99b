import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def synthetic_spectra(n, n_bins=200, seed=0):
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, 1, n_bins)
    spectra = np.zeros((n, n_bins), dtype=np.float32)
    for k in range(4):
        centre = rng.uniform(0.1, 0.9, (n, 1))
        width = rng.uniform(0.01, 0.05, (n, 1))
        height = rng.uniform(0.2, 1.0, (n, 1))
        spectra += (height * np.exp(-((axis - centre) ** 2) / (2 * width**2))).astype(np.float32)
    return spectra / spectra.max()


class AutoEncoder(nn.Module):
    def __init__(self, n_in, n_latent):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_in, 96), nn.ReLU(),
            nn.Linear(96, 32), nn.ReLU(),
            nn.Linear(32, n_latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(n_latent, 32), nn.ReLU(),
            nn.Linear(32, 96), nn.ReLU(),
            nn.Linear(96, n_in), nn.Sigmoid(),
        )

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for (batch,) in loader:
            recon, _ = model(batch)
            loss = criterion(recon, batch)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item()
    return total / len(loader)


torch.manual_seed(0)
train_ds = TensorDataset(torch.from_numpy(synthetic_spectra(256, seed=0)))
test_ds = TensorDataset(torch.from_numpy(synthetic_spectra(64, seed=1)))
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=64)

model = AutoEncoder(n_in=200, n_latent=6)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(4):
    tr = run_epoch(model, train_dl, criterion, optimizer)
    te = run_epoch(model, test_dl, criterion)
    print(f"epoch {epoch + 1:2d}  train {tr:.5f}  test {te:.5f}")
