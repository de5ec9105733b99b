import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class IrregularPendulum(Dataset):
    def __init__(self, n=96, length=30, seed=0):
        rng = np.random.default_rng(seed)
        self.times = np.sort(rng.uniform(0, 6, (n, length)), axis=1).astype(np.float32)
        phase = rng.uniform(0, 6.28, (n, 1))
        angle = np.cos(2 * self.times + phase)
        self.obs = np.stack([angle, np.sin(2 * self.times + phase)], -1).astype(np.float32)
        self.obs += rng.normal(0, 0.1, self.obs.shape).astype(np.float32)
        self.target = angle[..., None].astype(np.float32)
        self.valid = (rng.random((n, length)) < 0.7)

    def __len__(self):
        return len(self.times)

    def __getitem__(self, i):
        return self.obs[i], self.target[i], self.times[i], self.valid[i]


class CRU(nn.Module):
    def __init__(self, obs_dim=2, latent=16, hidden=32):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.drift = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, latent))
        self.diffusion = nn.Parameter(torch.zeros(latent))
        self.decoder = nn.Linear(latent, 1)
        self.decoder_var = nn.Linear(latent, 1)

    def forward(self, obs, times, valid):
        mean = obs.new_zeros(obs.shape[0], self.latent)
        cov = torch.ones_like(mean)
        y, log_r = self.encoder(obs).chunk(2, dim=-1)
        r = nn.functional.softplus(log_r) + 1e-4
        outputs, variances = [], []
        last = times[:, 0]
        for t in range(obs.shape[1]):
            dt = (times[:, t] - last).unsqueeze(-1)
            last = times[:, t]
            mean = mean + dt * self.drift(mean)
            cov = cov + dt * self.diffusion.exp()
            gain = cov / (cov + r[:, t]) * valid[:, t].unsqueeze(-1)
            mean = mean + gain * (y[:, t] - mean)
            cov = (1 - gain) * cov
            outputs.append(self.decoder(mean))
            variances.append(nn.functional.softplus(self.decoder_var(cov)) + 1e-4)
        return torch.stack(outputs, 1), torch.stack(variances, 1)


def gaussian_nll(target, mean, var):
    return 0.5 * (torch.log(var) + (target - mean).pow(2) / var).mean()


def train_epoch(model, dl, optimizer):
    epoch_ll = 0
    epoch_rmse = 0
    for obs, target, times, valid in dl:
        optimizer.zero_grad()
        mean, var = model(obs, times, valid)
        loss = gaussian_nll(target, mean, var)
        rmse = (target - mean).pow(2).mean().sqrt()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        epoch_ll += -loss.item()
        epoch_rmse += rmse.item()
    return epoch_ll / len(dl), epoch_rmse / len(dl)


def main(args):
    torch.manual_seed(args.random_seed)
    model = CRU()
    dl = DataLoader(IrregularPendulum(), batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    train_ll, train_rmse = [], []
    for epoch in range(args.epochs):
        ll, rmse = train_epoch(model, dl, optimizer)
        train_ll.append(ll)
        train_rmse.append(rmse)
        print(f'Training epoch {epoch}: log-likelihood {ll:.4f}, rmse {rmse:.4f}')
    print('best epoch', max(range(args.epochs), key=lambda i: train_ll[i]))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=5e-3)
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--random-seed', type=int, default=0)
    main(parser.parse_args())
