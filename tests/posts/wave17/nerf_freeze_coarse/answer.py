from argparse import ArgumentParser

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Embedding(nn.Module):
    def __init__(self, n_freqs):
        super().__init__()
        self.register_buffer('freqs', 2.0 ** torch.arange(n_freqs))

    def forward(self, x):
        out = [x]
        for f in self.freqs:
            out += [torch.sin(f * x), torch.cos(f * x)]
        return torch.cat(out, -1)


class NeRF(nn.Module):
    def __init__(self, in_dim, width=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_dim, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 4))

    def forward(self, x):
        out = self.layers(x)
        return torch.sigmoid(out[..., :3]), torch.relu(out[..., 3])


class RayDataset(Dataset):
    def __init__(self, n_rays=1024):
        g = torch.Generator().manual_seed(0)
        self.origins = torch.tensor([0.0, 0.0, -2.0]).expand(n_rays, 3)
        xy = torch.rand(n_rays, 2, generator=g) - 0.5
        self.dirs = nn.functional.normalize(torch.cat([xy, torch.ones(n_rays, 1)], -1), dim=-1)
        self.rgbs = (xy.norm(dim=-1, keepdim=True) < 0.3).float() * torch.tensor([0.9, 0.4, 0.1])

    def __len__(self):
        return len(self.origins)

    def __getitem__(self, i):
        return self.origins[i], self.dirs[i], self.rgbs[i]


def render(model, embed, origins, dirs, z):
    points = origins[:, None] + dirs[:, None] * z[None, :, None]
    rgb, sigma = model(embed(points))
    alpha = 1 - torch.exp(-sigma * (z[1] - z[0]))
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    return ((alpha * trans)[..., None] * rgb).sum(1)


class NeRFSystem:
    def __init__(self, hparams):
        self.hparams = hparams
        self.embed = Embedding(4)
        in_dim = 3 * (1 + 2 * 4)
        self.nerf_coarse = NeRF(in_dim)
        self.nerf_fine = NeRF(in_dim, width=96)
        self.models = {'coarse': self.nerf_coarse, 'fine': self.nerf_fine}
        self.trainable_models = [self.nerf_fine]
        self.loss = nn.MSELoss()
        self.optimizer = self.get_optimizer(self.trainable_models)

    def get_optimizer(self, models):
        parameters = []
        for model in models:
            parameters += list(model.parameters())
        return torch.optim.Adam(parameters, lr=self.hparams.lr)

    def configure_optimizers(self):
        self.optimizer = self.get_optimizer(self.trainable_models)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=self.hparams.num_epochs)
        return [self.optimizer], [scheduler]

    def training_step(self, batch):
        origins, dirs, rgbs = batch
        coarse = render(self.nerf_coarse, self.embed, origins, dirs, torch.linspace(1.0, 3.0, 16))
        fine = render(self.nerf_fine, self.embed, origins, dirs, torch.linspace(1.0, 3.0, 48))
        return self.loss(coarse, rgbs) + self.loss(fine, rgbs)


def main():
    parser = ArgumentParser()
    parser.add_argument('--num_epochs', type=int, default=5)
    parser.add_argument('--batch_size', type=int, default=128)
    parser.add_argument('--lr', type=float, default=5e-4)
    hparams = parser.parse_args()

    torch.manual_seed(0)
    system = NeRFSystem(hparams)
    loader = DataLoader(RayDataset(), batch_size=hparams.batch_size, shuffle=True)
    (optimizer,), (scheduler,) = system.configure_optimizers()
    for epoch in range(hparams.num_epochs):
        total = 0.0
        for batch in loader:
            loss = system.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print(f'epoch {epoch} loss {total / len(loader):.4f}')
    torch.save({'fine': system.nerf_fine.state_dict(), 'coarse': system.nerf_coarse.state_dict()}, '/tmp/nerf_ckpt.pt')


if __name__ == '__main__':
    main()
