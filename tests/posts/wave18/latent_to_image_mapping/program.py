import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class MappingNetwork(nn.Module):
    def __init__(self, latent_dim=64, depth=3):
        super().__init__()
        self.fc = nn.ModuleList(nn.Linear(latent_dim, latent_dim) for _ in range(depth))

    def forward(self, z):
        z = z * torch.rsqrt(z.pow(2).mean(dim=1, keepdim=True) + 1e-8)
        for layer in self.fc:
            z = F.leaky_relu(layer(z), 0.2)
        return z


class StyledBlock(nn.Module):
    def __init__(self, cin, cout, latent_dim):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.style = nn.Linear(latent_dim, 2 * cout)

    def forward(self, x, w):
        x = self.conv(F.interpolate(x, scale_factor=2))
        gamma, beta = self.style(w).chunk(2, dim=1)
        x = F.instance_norm(x) * (1 + gamma[:, :, None, None]) + beta[:, :, None, None]
        return F.leaky_relu(x, 0.2)


class Synthesis(nn.Module):
    def __init__(self, latent_dim=64, n_layers=3):
        super().__init__()
        self.const = nn.Parameter(torch.randn(1, 32, 4, 4))
        self.blocks = nn.ModuleList(StyledBlock(32, 32, latent_dim) for _ in range(n_layers))
        self.to_rgb = nn.Conv2d(32, 3, 1)

    def forward(self, w):
        x = self.const.expand(len(w), -1, -1, -1)
        maps = []
        for block in self.blocks:
            x = block(x, w)
            maps.append(x)
        return torch.tanh(self.to_rgb(x)), maps


def latent_to_image(mapping, synthesis, latents, upsample=32):
    with torch.no_grad():
        w = mapping(latents)
        img, maps = synthesis(w)
        feats = torch.cat([F.interpolate(m, size=upsample) for m in maps], dim=1)
    return img, feats


def generate_data(mapping, synthesis, out_dir, num_sample=6):
    latents = np.random.default_rng(0).normal(size=(num_sample, 64)).astype(np.float32)
    np.save(os.path.join(out_dir, 'latent_stylegan.npy'), latents)
    stored = np.load(os.path.join(out_dir, 'latent_stylegan.npy'))
    features, labels = [], []
    for i in range(len(stored)):
        latent = torch.from_numpy(stored[i]).unsqueeze(1)
        img, feats = latent_to_image(mapping, synthesis, latent)
        features.append(feats[0].flatten(1).t())
        labels.append((img[0].mean(0) > 0).long().flatten())
    return torch.cat(features), torch.cat(labels)


class PixelClassifier(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Linear(64, classes))

    def forward(self, x):
        return self.layers(x)


def main():
    torch.manual_seed(0)
    mapping, synthesis = MappingNetwork().eval(), Synthesis().eval()
    with tempfile.TemporaryDirectory() as d:
        x, y = generate_data(mapping, synthesis, d)
    classifier = PixelClassifier(x.shape[1], 2)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=1e-3)
    for epoch in range(3):
        perm = torch.randperm(len(x))
        for idx in perm.split(64):
            loss = F.cross_entropy(classifier(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f'epoch {epoch} loss {loss.item():.4f}')


if __name__ == '__main__':
    main()
