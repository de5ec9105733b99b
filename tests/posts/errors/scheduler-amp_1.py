# line 40: OneCycleLR is built with one step per epoch but is stepped after every batch, so it runs out of steps; mended by: steps_per_epoch of the loader's length
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


class Hparams(dict):
    __getattr__ = dict.__getitem__


hp = Hparams(epochs=4, bs=32, max_lr=0.02, clip=1.0, dim=12, n_users=40, n_films=60)


class NeuMF(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.u_gmf, self.i_gmf = nn.Embedding(hp.n_users, hp.dim), nn.Embedding(hp.n_films, hp.dim)
        self.u_mlp, self.i_mlp = nn.Embedding(hp.n_users, hp.dim), nn.Embedding(hp.n_films, hp.dim)
        self.mlp = nn.Sequential(nn.Linear(2 * hp.dim, 24), nn.ReLU(), nn.Linear(24, 8), nn.ReLU())
        self.out = nn.Linear(hp.dim + 8, 1)

    def forward(self, u, i):
        gmf = self.u_gmf(u) * self.i_gmf(i)
        mlp = self.mlp(torch.cat([self.u_mlp(u), self.i_mlp(i)], dim=-1))
        return self.out(torch.cat([gmf, mlp], dim=-1)).flatten()


def ratings(hp, n=800):
    u = torch.randint(hp.n_users, (n,))
    i = torch.randint(hp.n_films, (n,))
    taste, style = torch.randn(hp.n_users, 3), torch.randn(hp.n_films, 3)
    r = (taste[u] * style[i]).sum(1) + 0.1 * torch.randn(n)
    return TensorDataset(u, i, r)


def setup(hp, loader):
    model = NeuMF(hp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp.max_lr / 25)
    scheduler = OneCycleLR(optimizer, max_lr=hp.max_lr, epochs=hp.epochs, steps_per_epoch=1)
    return model, optimizer, scheduler


def fit(hp):
    loader = DataLoader(ratings(hp), batch_size=hp.bs, shuffle=True)
    model, optimizer, scheduler = setup(hp, loader)
    for epoch in range(hp.epochs):
        total = 0.0
        for u, i, r in loader:
            loss = nn.functional.mse_loss(model(u, i), r)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), hp.clip)
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(r)
        print(f"epoch {epoch} mse {total / len(loader.dataset):.3f} lr {scheduler.get_last_lr()[0]:.2e}")


torch.manual_seed(0)
fit(hp)
