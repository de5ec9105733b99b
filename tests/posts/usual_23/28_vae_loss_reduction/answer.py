import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_images(n, seed=0):
    """Binary 16x16 pictures of a filled rectangle at a random place."""
    g = torch.Generator().manual_seed(seed)
    imgs = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        x, y = torch.randint(0, 9, (2,), generator=g).tolist()
        w, h = torch.randint(3, 8, (2,), generator=g).tolist()
        imgs[i, 0, y : y + h, x : x + w] = 1.0
    return imgs


class VAE(nn.Module):
    def __init__(self, latent_dim=8, hidden=256):
        super().__init__()
        self.latent_dim = latent_dim
        self.fc1 = nn.Linear(256, hidden)
        self.fc_mu = nn.Linear(hidden, latent_dim)
        self.fc_logvar = nn.Linear(hidden, latent_dim)
        self.fc3 = nn.Linear(latent_dim, hidden)
        self.fc4 = nn.Linear(hidden, 256)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 256))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    recon = F.binary_cross_entropy(recon_x, x.view(-1, 256), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return recon + kld


torch.manual_seed(0)
train_images = make_images(1024)
test_images = make_images(128, seed=1)
train_loader = DataLoader(TensorDataset(train_images), batch_size=64, shuffle=True)

model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, 21):
    model.train()
    train_loss = 0.0
    for (x,) in train_loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: average loss {train_loss / len(train_loader.dataset):.4f}")

model.eval()
with torch.no_grad():
    recon, mu, logvar = model(test_images)
    error = (recon - test_images.view(-1, 256)).abs().mean().item()
    samples = model.decode(torch.randn(16, model.latent_dim)).view(-1, 1, 16, 16)
print(f"mean abs reconstruction error {error:.4f}")
print(f"std of mu over the test set {mu.std(dim=0).mean().item():.4f}")
print(f"std between samples {samples.std(dim=0).mean().item():.4f}")
