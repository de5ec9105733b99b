# # Generating ECG-like beats with a 1-D DCGAN
# (adapted for a course project)

# ## Imports and settings
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

SEED, LATENT, LENGTH, BATCH, EPOCHS = 21, 24, 64, 32, 15
LR_G, LR_D = 1e-3, 5e-4
torch.manual_seed(SEED)
rs = np.random.RandomState(SEED)


# ## Data
def beats(n):
    t = np.linspace(0, 1, LENGTH)
    pos = rs.uniform(0.4, 0.6, (n, 1))
    r = np.exp(-((t - pos) ** 2) / 0.0008)
    s = -0.3 * np.exp(-((t - pos - 0.06) ** 2) / 0.0008)
    tw = 0.35 * np.exp(-((t - pos - 0.22) ** 2) / 0.004)
    sig = r + s + tw + 0.01 * rs.randn(n, LENGTH)
    return np.clip(sig, -1, 1).astype(np.float32)


real_beats = torch.from_numpy(beats(960)).unsqueeze(1)
loader = DataLoader(TensorDataset(real_beats), batch_size=BATCH, shuffle=True, drop_last=True)


# ## Networks
generator = nn.Sequential(
    nn.ConvTranspose1d(LATENT, 64, 8, 1, 0, bias=False), nn.BatchNorm1d(64), nn.ReLU(True),
    nn.ConvTranspose1d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm1d(32), nn.ReLU(True),
    nn.ConvTranspose1d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm1d(16), nn.ReLU(True),
    nn.ConvTranspose1d(16, 1, 4, 2, 1, bias=False), nn.Tanh(),
)
discriminator = nn.Sequential(
    nn.Conv1d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv1d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv1d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Flatten(), nn.Linear(64 * 8, 1),
)

criterion = nn.BCEWithLogitsLoss()
optimizer_D = optim.Adam(discriminator.parameters(), lr=LR_D, betas=(0.5, 0.999))
optimizer_G = optim.Adam(generator.parameters(), lr=LR_G, betas=(0.5, 0.999))

ones = torch.ones(BATCH, 1)
zeros = torch.zeros(BATCH, 1)


# ## Training
def train_discriminator(real):
    noise = torch.randn(real.size(0), LATENT, 1)
    with torch.no_grad():
        fake = generator(noise)
    optimizer_D.zero_grad()
    loss = criterion(discriminator(real), ones) + criterion(discriminator(fake), zeros)
    loss.backward()
    optimizer_D.step()
    return loss.item()


def train_generator():
    noise = torch.randn(BATCH, LATENT, 1)
    optimizer_G.zero_grad()
    loss = criterion(discriminator(generator(noise)), ones)
    loss.backward()
    optimizer_G.step()
    return loss.item()


def mean_profile_error(n=256):
    generator.eval()
    with torch.no_grad():
        fake = generator(torch.randn(n, LATENT, 1))
    generator.train()
    return (fake.mean(0) - real_beats.mean(0)).abs().mean().item()


print(f"before training: profile error {mean_profile_error():.4f}")
for epoch in range(EPOCHS):
    d_losses, g_losses = [], []
    for (real,) in loader:
        d_losses.append(train_discriminator(real))
        g_losses.append(train_generator())
    if epoch % 3 == 2:
        print(f"Epoch {epoch + 1}/{EPOCHS}  D {np.mean(d_losses):.3f}  G {np.mean(g_losses):.3f}  "
              f"profile error {mean_profile_error():.4f}")
