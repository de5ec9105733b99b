import numpy as np
import torch
import torch.nn as nn
from sklearn.cluster import KMeans
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(5)
torch.manual_seed(5)
device = "cuda" if torch.cuda.is_available() else "cpu"


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ELU()]
    return nn.Sequential(*layers)


class MultiOmicsAE(nn.Module):
    def __init__(self, dim1, dim2, z=16, noise=(2.5, 1.5)):
        super().__init__()
        self.noise = noise
        self.encoder = mlp([dim1 + dim2, 64, z])
        self.decoder1 = nn.Sequential(mlp([z, 64]), nn.Linear(64, dim1))
        self.decoder2 = nn.Sequential(mlp([z, 64]), nn.Linear(64, dim2))

    def forward(self, x1, x2):
        if self.training:
            x1 = x1 + 0.1 * self.noise[0] * torch.randn_like(x1)
            x2 = x2 + 0.1 * self.noise[1] * torch.randn_like(x2)
        h = self.encoder(torch.cat([x1, x2], dim=-1))
        return h, self.decoder1(h), self.decoder2(h)

    def pretrain(self, X1, X2, batch_size=64, epochs=8, lr=1e-3):
        self.train()
        loader = DataLoader(TensorDataset(torch.Tensor(X1), torch.Tensor(X2)), batch_size=batch_size, shuffle=True)
        optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        for epoch in range(epochs):
            total = 0.0
            for x1, x2 in loader:
                x1, x2 = x1.to(device), x2.to(device)
                _, r1, r2 = self(x1, x2)
                loss = nn.functional.mse_loss(r1, x1) + nn.functional.mse_loss(r2, x2)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            if epoch % 4 == 0:
                print("Pretrain epoch %d, Total loss:%.5f" % (epoch, total / len(loader)))

    def embed_cells(self, X1, X2, batch_size=128):
        self.eval()
        latent = []
        with torch.no_grad():
            for i in range(0, len(X1), batch_size):
                z, _, _ = self(X1[i:i + batch_size], X2[i:i + batch_size])
                latent.append(z.cpu())
        return torch.cat(latent)


def normalize(counts):
    counts = counts / counts.sum(axis=1, keepdims=True) * np.median(counts.sum(axis=1))
    logged = np.log1p(counts)
    return (logged - logged.mean(axis=0)) / (logged.std(axis=0) + 1e-8)


def simulate(n_cells=300, genes=60, proteins=20, n_clusters=4):
    label = np.random.randint(n_clusters, size=n_cells)
    rate1 = np.random.gamma(2.0, 2.0, (n_clusters, genes))
    rate2 = np.random.gamma(3.0, 2.0, (n_clusters, proteins))
    return np.random.poisson(rate1[label]) + 1, np.random.poisson(rate2[label]) + 1


if __name__ == "__main__":
    rna, adt = simulate()
    x1, x2 = normalize(rna), normalize(adt)
    model = MultiOmicsAE(x1.shape[1], x2.shape[1]).to(device)
    model.pretrain(x1, x2)
    latent = model.embed_cells(torch.tensor(x1, dtype=torch.float32).to(device), torch.tensor(x2, dtype=torch.float32).to(device))
    pred = KMeans(n_clusters=4, n_init=5, random_state=0).fit_predict(latent.numpy())
    print("latent", tuple(latent.shape), "cluster sizes", np.bincount(pred))
