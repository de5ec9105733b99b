import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvAutoencoder(nn.Module):
    def __init__(self, channels=1, latent=16):
        super().__init__()
        self.enc1 = nn.Conv2d(channels, 8, 3, stride=2, padding=1)
        self.enc2 = nn.Conv2d(8, latent, 3, stride=2, padding=1)
        self.dec1 = nn.ConvTranspose2d(latent, 8, 2, stride=2)
        self.dec2 = nn.ConvTranspose2d(8, channels, 2, stride=2)

    def forward(self, x):
        z = F.relu(self.enc2(F.relu(self.enc1(x))))
        return torch.sigmoid(self.dec2(F.relu(self.dec1(z))))


def train_autoencoder(images, epochs=15, batch_size=32):
    model = ConvAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        order = torch.randperm(len(images))
        total = 0.0
        for idx in order.split(batch_size):
            batch = images[idx]
            loss = F.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}: reconstruction loss {total / len(images):.4f}")
    return model


def anomaly_scores(model_path, images):
    model = ConvAutoencoder()
    model.load_state_dict(torch.load(model_path))
    model.eval()
    with torch.no_grad():
        recon = model(images)
    return ((recon - images) ** 2).mean(dim=(1, 2, 3))


torch.manual_seed(0)
base = torch.linspace(0, 1, 28).repeat(28, 1)
normal = (base + 0.05 * torch.randn(256, 1, 28, 28)).clamp(0, 1)
broken = torch.rand(16, 1, 28, 28)

workdir = tempfile.mkdtemp()
path = os.path.join(workdir, "autoencoder.pt")
model = train_autoencoder(normal)
torch.save(model.state_dict(), path)

print("normal:", anomaly_scores(path, normal[:16]).mean().item())
print("broken:", anomaly_scores(path, broken).mean().item())
os.remove(path)
os.rmdir(workdir)
