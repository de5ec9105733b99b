import numpy as np
import pandas as pd
import torch
import torch.nn as nn

torch.manual_seed(1234)
np.random.seed(1234)

# ---- hyperparameters ----
latent_dim = 12
batch_size = 128
n_epochs = 8
lr = 2e-4
betas = (0.5, 0.999)

# ---- data ----
n = 2048
age = np.clip(np.random.normal(44, 13, n), 18, 90)
income = np.exp(np.random.normal(10.2, 0.4, n)) * (0.6 + age / 100)
visits = np.random.poisson(3 + 4 * (income > np.median(income)))
basket = 12 + 0.0006 * income + np.random.gamma(2.0, 4.0, n)
customers = pd.DataFrame({"age": age, "income": income, "visits": visits, "basket": basket})

mean, std = customers.mean(), customers.std()
real_data = torch.tensor(((customers - mean) / std).values, dtype=torch.float32)
loader = torch.utils.data.DataLoader(real_data, batch_size=batch_size, shuffle=True, drop_last=True)


class Generator(nn.Module):
    def __init__(self, latent_dim, n_columns):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(True),
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(True),
            nn.Linear(64, n_columns),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, n_columns):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_columns, 64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, 32),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(32, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x)


G = Generator(latent_dim, real_data.shape[1])
D = Discriminator(real_data.shape[1])
optimizer_G = torch.optim.Adam(G.parameters(), lr=lr, betas=betas)
optimizer_D = torch.optim.Adam(D.parameters(), lr=lr, betas=betas)
bce = nn.BCELoss()

real_labels = torch.ones(batch_size, 1)
fake_labels = torch.zeros(batch_size, 1)

for epoch in range(n_epochs):
    for real in loader:
        z = torch.randn(batch_size, latent_dim)
        fake = G(z)

        optimizer_D.zero_grad()
        d_loss = bce(D(real), real_labels) + bce(D(fake.detach()), fake_labels)
        d_loss.backward()
        optimizer_D.step()

        optimizer_G.zero_grad()
        g_loss = bce(D(fake), real_labels)
        g_loss.backward()
        optimizer_G.step()

    print("[%d/%d] d_loss %.3f g_loss %.3f" % (epoch + 1, n_epochs, d_loss.item(), g_loss.item()))

G.eval()
with torch.no_grad():
    sample = G(torch.randn(5, latent_dim)).numpy()
print(pd.DataFrame(sample * std.values + mean.values, columns=customers.columns).round(1))
