import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim


class VAE(nn.Module):
    def __init__(self, in_dim=144, latent=8):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(in_dim, 128)
        self.mu = nn.Linear(128, latent)
        self.logvar = nn.Linear(128, latent)
        self.fc3 = nn.Linear(latent, 128)
        self.fc4 = nn.Linear(128, in_dim)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparameterize(mu, logvar)
        recon = torch.sigmoid(self.fc4(F.relu(self.fc3(z))))
        return recon, mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def make_digits(n):
    images = torch.zeros(n, 12, 12)
    cols = torch.randint(0, 10, (n,))
    for i, c in enumerate(cols):
        images[i, 1:11, c:c + 2] = 1.0
    return images.view(n, -1)


torch.manual_seed(0)
data = make_digits(512)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, 6):
    model.train()
    train_loss = 0
    for batch in data.split(64):
        batch = batch.to(device)
        optimizer.zero_grad()
        recon, mu, logvar = model(batch)
        loss = loss_function(recon, batch, mu, logvar)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(data)))

with torch.no_grad():
    sample = model.fc4(F.relu(model.fc3(torch.randn(4, 8, device=device)))).sigmoid()
print(sample.shape)
