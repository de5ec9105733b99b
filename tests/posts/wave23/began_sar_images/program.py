import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

IMAGE_SIZE = 32
BATCH = 8
HIDDEN = 16
CHANNELS = 1

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_sar_folder(root, count=24):
    rng = np.random.default_rng(3)
    folder = os.path.join(root, "chips")
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        speckle = rng.gamma(2.0, 30.0, size=(40, 40)).clip(0, 255).astype(np.uint8)
        Image.fromarray(speckle).save(os.path.join(folder, f"{i:03d}.png"))


def return_data(root):
    transform = transforms.Compose([
        transforms.Resize((IMAGE_SIZE, IMAGE_SIZE)),
        transforms.ToTensor(),
        transforms.Lambda(lambda t: t * 2 - 1),
    ])
    dataset = datasets.ImageFolder(root, transform)
    return DataLoader(dataset, batch_size=BATCH, shuffle=True, drop_last=True)


class Decoder(nn.Module):
    def __init__(self, n_z, n_filter):
        super().__init__()
        self.n_filter = n_filter
        self.fc = nn.Linear(n_z, n_filter * 8 * 8)
        self.conv1 = nn.Conv2d(n_filter, n_filter, 3, 1, 1)
        self.conv2 = nn.Conv2d(n_filter, n_filter, 3, 1, 1)
        self.out = nn.Conv2d(n_filter, CHANNELS, 3, 1, 1)

    def forward(self, z):
        x = self.fc(z).view(-1, self.n_filter, 8, 8)
        x = F.interpolate(F.elu(self.conv1(x)), scale_factor=2)
        x = F.interpolate(F.elu(self.conv2(x)), scale_factor=2)
        return torch.tanh(self.out(x))


class Discriminator(nn.Module):
    def __init__(self, n_z, n_filter):
        super().__init__()
        self.conv1 = nn.Conv2d(CHANNELS, n_filter, 3, 1, 1)
        self.conv2 = nn.Conv2d(n_filter, n_filter, 3, 2, 1)
        self.conv3 = nn.Conv2d(n_filter, n_filter, 3, 2, 1)
        self.fc = nn.Linear(n_filter * 8 * 8, n_z)
        self.decoder = Decoder(n_z, n_filter)

    def forward(self, x):
        h = F.elu(self.conv1(x))
        h = F.elu(self.conv2(h))
        h = F.elu(self.conv3(h))
        return self.decoder(self.fc(h.flatten(1)))


def main():
    torch.manual_seed(0)
    n_z, gamma, lambda_k, k = 16, 0.5, 0.001, 0.0
    G = Decoder(n_z, HIDDEN).to(device)
    D = Discriminator(n_z, HIDDEN).to(device)
    g_optim = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.5, 0.999))
    d_optim = torch.optim.Adam(D.parameters(), lr=1e-4, betas=(0.5, 0.999))

    with tempfile.TemporaryDirectory() as root:
        make_sar_folder(root)
        loader = return_data(root)
        for epoch in range(2):
            for real, _ in loader:
                real = real.to(device)
                z = torch.rand(real.size(0), n_z, device=device) * 2 - 1
                fake = G(z)
                loss_real = F.l1_loss(D(real), real)
                loss_fake = F.l1_loss(D(fake.detach()), fake.detach())
                d_optim.zero_grad()
                (loss_real - k * loss_fake).backward()
                d_optim.step()

                fake = G(z)
                loss_g = F.l1_loss(D(fake), fake)
                g_optim.zero_grad()
                loss_g.backward()
                g_optim.step()

                balance = (gamma * loss_real - loss_g).item()
                k = min(max(k + lambda_k * balance, 0.0), 1.0)
            print(f"epoch {epoch} real {loss_real.item():.4f} gen {loss_g.item():.4f} k {k:.4f}")


if __name__ == "__main__":
    main()
