import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

SEED = 11
BEAT_LEN = 140
EPOCHS = 8
torch.manual_seed(SEED)


def synth_beats(n, seed):
    """one heartbeat per row: P wave, QRS complex, T wave"""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, BEAT_LEN)
    beats = np.zeros((n, BEAT_LEN))
    for i in range(n):
        shift = rng.normal(0, 0.01)
        beats[i] += 0.15 * np.exp(-((t - 0.2 - shift) ** 2) / 0.0008)
        beats[i] -= 0.20 * np.exp(-((t - 0.37 - shift) ** 2) / 0.0001)
        beats[i] += rng.normal(1.2, 0.2) * np.exp(-((t - 0.4 - shift) ** 2) / 0.0002)
        beats[i] -= 0.30 * np.exp(-((t - 0.43 - shift) ** 2) / 0.0002)
        beats[i] += rng.normal(0.35, 0.08) * np.exp(-((t - 0.68 - shift) ** 2) / 0.003)
        beats[i] += rng.normal(0, 0.02, BEAT_LEN)
    return beats


raw = synth_beats(1500, SEED)
mean, std = raw[:1280].mean(), raw[:1280].std()
beats = torch.tensor((raw - mean) / std, dtype=torch.float32)
train_loader = DataLoader(beats[:1280], batch_size=64, shuffle=True)
test_loader = DataLoader(beats[1280:], batch_size=64)


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.fc1 = nn.Linear(BEAT_LEN, 96)
        self.fc21 = nn.Linear(96, latent)
        self.fc22 = nn.Linear(96, latent)
        self.fc3 = nn.Linear(latent, 96)
        self.fc4 = nn.Linear(96, BEAT_LEN)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return self.fc4(h3)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.mse_loss(recon_x, x.view(-1, BEAT_LEN), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, EPOCHS + 1):
    model.train()
    train_loss = 0
    for data in train_loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()

    model.eval()
    test_loss = 0
    with torch.no_grad():
        for data in test_loader:
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item()
    print(f"epoch {epoch} train {train_loss / 1280:.2f} test {test_loss / 220:.2f}")

with torch.no_grad():
    samples = model.decode(torch.randn(500, 8)) * std + mean
print("height of the QRS peak, data   :", round(float(raw.max(1).mean()), 3), "+-", round(float(raw.max(1).std()), 3))
print("height of the QRS peak, samples:", round(samples.max(1).values.mean().item(), 3), "+-", round(samples.max(1).values.std().item(), 3))
