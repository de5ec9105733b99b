import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from PIL import Image, ImageDraw

LATENT = 8
SIZE = 28

to_input = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])


class LeafSilhouettes(Dataset):
    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.pictures = []
        for _ in range(n):
            img = Image.new("L", (SIZE, SIZE), 0)
            w, h = rng.integers(4, 11), rng.integers(7, 13)
            draw = ImageDraw.Draw(img)
            draw.ellipse((14 - w, 14 - h, 14 + w, 14 + h), fill=int(rng.integers(180, 256)))
            draw.line((14, 14 - h, 14, 27), fill=90)
            self.pictures.append(img)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, idx):
        return to_input(self.pictures[idx])


class VAE(nn.Module):
    def __init__(self, latent=LATENT):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.fc_mu = nn.Linear(32 * 7 * 7, latent)
        self.fc_logvar = nn.Linear(32 * 7 * 7, latent)
        self.fc_up = nn.Linear(latent, 32 * 7 * 7)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 3, stride=2, padding=1),
            nn.Sigmoid(),
        )

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def decode(self, z):
        h = self.fc_up(z).view(-1, 32, 7, 7)
        return self.decoder(h)

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.fc_mu(h), self.fc_logvar(h)
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def vae_loss(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / x.size(0)


torch.manual_seed(2)
train_loader = DataLoader(LeafSilhouettes(800), batch_size=50, shuffle=True)
test_loader = DataLoader(LeafSilhouettes(100, seed=1), batch_size=50)

vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)

for epoch in range(1, 6):
    vae.train()
    total = 0
    for x in train_loader:
        recon, mu, logvar = vae(x)
        loss = vae_loss(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()

    vae.eval()
    with torch.no_grad():
        test = 0
        for x in test_loader:
            recon, mu, logvar = vae(x)
            test += vae_loss(recon, x, mu, logvar).item()
    print(f"epoch {epoch}: train {total / len(train_loader):.2f}  test {test / len(test_loader):.2f}")

with torch.no_grad():
    leaves = vae.decode(torch.randn(16, LATENT))
print("sampled leaves", tuple(leaves.shape), "bright part", round((leaves > 0.5).float().mean().item(), 3))
