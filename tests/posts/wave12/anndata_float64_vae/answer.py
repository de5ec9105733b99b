import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class CellTable:
    """expression matrix with one row per cell, and the table about the cells"""

    def __init__(self, X, obs):
        self.X = X
        self.obs = obs


def read_counts(n_cells=400, n_genes=120):
    rng = np.random.default_rng(8)
    obs = pd.DataFrame({
        'study': rng.choice(['Pancreas A', 'Pancreas B', 'Pancreas C'], n_cells),
        'cell_type': rng.choice(['alpha', 'beta', 'delta', 'ductal'], n_cells),
    })
    rate = 1.0 + rng.gamma(1.0, 2.0, size=(4, n_genes))
    types = obs['cell_type'].astype('category').cat.codes.to_numpy()
    counts = rng.poisson(rate[types])
    return CellTable(counts, obs)


def normalize_total(adata, target_sum=1e4):
    totals = adata.X.sum(axis=1, keepdims=True)
    adata.X = np.log1p(adata.X / totals * target_sum)


class CellDataset(Dataset):
    def __init__(self, adata, condition_key, cell_type_key):
        self.x = adata.X
        conditions = adata.obs[condition_key].astype('category')
        types = adata.obs[cell_type_key].astype('category')
        self.condition = conditions.cat.codes.to_numpy().astype(np.int64)
        self.cell_type = types.cat.codes.to_numpy().astype(np.int64)
        self.n_conditions = len(conditions.cat.categories)
        self.n_types = len(types.cat.categories)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {'x': torch.from_numpy(self.x[i]),
                'batch': torch.tensor(self.condition[i]),
                'celltype': torch.tensor(self.cell_type[i])}


class ConditionalVAE(nn.Module):
    def __init__(self, n_genes, n_conditions, n_types, embedding_dim=5, hidden=64, latent=10):
        super().__init__()
        self.embedding = nn.Embedding(n_conditions, embedding_dim, max_norm=1)
        self.fc = nn.Linear(n_genes, hidden)
        self.fc_cond = nn.Linear(embedding_dim, hidden, bias=False)
        self.mean = nn.Linear(hidden, latent)
        self.log_var = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent + embedding_dim, hidden), nn.ReLU(), nn.Linear(hidden, n_genes))
        self.prototypes = nn.Parameter(torch.randn(n_types, latent))

    def forward(self, x, batch, celltype):
        emb = self.embedding(batch)
        h = F.relu(self.fc(x) + self.fc_cond(emb))
        mu, log_var = self.mean(h), self.log_var(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)
        out = self.decoder(torch.cat([z, emb], dim=1))
        recon = F.mse_loss(out, x, reduction='none').sum(dim=1).mean()
        kl = -0.5 * (1 + log_var - mu ** 2 - log_var.exp()).sum(dim=1).mean()
        proto = ((z - self.prototypes[celltype]) ** 2).sum(dim=1).mean()
        return recon, kl, proto


def main():
    torch.manual_seed(0)
    adata = read_counts()
    normalize_total(adata)
    adata.X = adata.X.astype('float32')

    dataset = CellDataset(adata, condition_key='study', cell_type_key='cell_type')
    loader = DataLoader(dataset, batch_size=64, shuffle=True)
    model = ConditionalVAE(adata.X.shape[1], dataset.n_conditions, dataset.n_types)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=0.01)

    pretraining_epochs, n_epochs, eta = 2, 5, 5
    for epoch in range(n_epochs):
        total = 0.0
        for cells in loader:
            recon, kl, proto = model(**cells)
            loss = recon + 0.5 * kl
            if epoch >= pretraining_epochs:
                loss = loss + eta * proto
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print('epoch %d/%d loss %.2f' % (epoch + 1, n_epochs, total / len(loader)))


if __name__ == '__main__':
    main()
