"""DCGAN-lite for 16x16 colour blobs. Saves one generated picture after each epoch."""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
OUT_DIR = tempfile.mkdtemp(prefix="gan_samples_")
Z = 32


def make_blobs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx = torch.randint(4, 12, (n, 1, 1))
    cy = torch.randint(4, 12, (n, 1, 1))
    blob = torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 8.0)
    colour = torch.rand(n, 3, 1, 1)
    return (blob.unsqueeze(1) * colour) * 2 - 1


loader = DataLoader(TensorDataset(make_blobs(768)), batch_size=64, shuffle=True)

G = nn.Sequential(
    nn.ConvTranspose2d(Z, 64, 4, 1, 0), nn.BatchNorm2d(64), nn.ReLU(True),
    nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(True),
    nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh(),
)
D = nn.Sequential(
    nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2, True),
    nn.Conv2d(32, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.LeakyReLU(0.2, True),
    nn.Conv2d(64, 1, 4, 1, 0), nn.Flatten(0),
)

bce = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
fixed_z = torch.randn(8, Z, 1, 1)


def save_sample(epoch):
    G.eval()
    with torch.no_grad():
        fake = G(fixed_z)
    G.train()
    img = (fake[0] + 1) / 2
    img = (img * 255).clamp(0, 255)
    picture = Image.fromarray(img.permute(1, 2, 0).numpy().astype(np.uint8))
    path = os.path.join(OUT_DIR, f"epoch_{epoch:03d}.png")
    picture.save(path)
    return path


for epoch in range(3):
    d_sum = g_sum = 0.0
    for (real,) in loader:
        b = real.size(0)
        fake = G(torch.randn(b, Z, 1, 1))

        opt_d.zero_grad()
        loss_d = bce(D(real), torch.ones(b)) + bce(D(fake.detach()), torch.zeros(b))
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        loss_g = bce(D(fake), torch.ones(b))
        loss_g.backward()
        opt_g.step()

        d_sum += loss_d.item()
        g_sum += loss_g.item()
    path = save_sample(epoch)
    size = Image.open(path).size
    print(f"[{epoch}] D {d_sum / len(loader):.3f} G {g_sum / len(loader):.3f} -> {os.path.basename(path)} {size}")
