"""Align neighbouring EM sections with a small displacement network."""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

TILE = 48
PAD = 8
MASK_DEFAULTS = {'tissue': 1.0, 'fold': 0.0}


def write_sections(folder, n):
    rng = np.random.default_rng(0)
    for z in range(n):
        coarse = rng.normal(size=(12, 12))
        img = np.kron(coarse, np.ones((4, 4))) + 0.1 * rng.normal(size=(TILE, TILE))
        np.savez(os.path.join(folder, 'pair_%02d.npz' % z), src=np.roll(img, 2, axis=1), tgt=img)
        if z % 2 == 0:
            fold = np.zeros((TILE, TILE))
            row = rng.integers(10, 38)
            fold[row:row + 3, :] = 1
            np.save(os.path.join(folder, 'fold_%02d.npy' % z), fold)
        if z % 3 == 0:
            tissue = np.ones((TILE, TILE))
            tissue[:, :rng.integers(6, 14)] = 0
            np.save(os.path.join(folder, 'tissue_%02d.npy' % z), tissue)


class SectionPairs(Dataset):
    def __init__(self, folder):
        self.folder = folder
        self.ids = sorted(f[5:7] for f in os.listdir(folder) if f.startswith('pair_'))

    def __len__(self):
        return len(self.ids)

    def load_mask(self, name, z):
        path = os.path.join(self.folder, '%s_%s.npy' % (name, z))
        if os.path.exists(path):
            return torch.from_numpy(np.load(path)).float()[None]
        return torch.full((1, TILE, TILE), MASK_DEFAULTS[name])

    def __getitem__(self, k):
        z = self.ids[k]
        pair = np.load(os.path.join(self.folder, 'pair_%s.npz' % z))
        item = {key: torch.from_numpy(pair[key]).float()[None] for key in ('src', 'tgt')}
        for name in MASK_DEFAULTS:
            item[name] = self.load_mask(name, z)
        return item


def pad_bundle(bundle, pad):
    out = {}
    for key, x in bundle.items():
        if key in MASK_DEFAULTS:
            out[key] = F.pad(x, (pad, pad, pad, pad), mode='replicate')
        else:
            out[key] = F.pad(x, (pad, pad, pad, pad), mode='constant', value=0.0)
    return out


class Aligner(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, ch, 5, padding=2), nn.LeakyReLU(0.1),
            nn.Conv2d(ch, ch, 5, padding=2), nn.LeakyReLU(0.1),
            nn.Conv2d(ch, 2, 5, padding=2))
        nn.init.normal_(self.net[-1].weight, std=1e-3)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, src, tgt):
        return self.net(torch.cat([src, tgt], dim=1))


def warp(img, field):
    n, _, h, w = img.shape
    theta = torch.eye(2, 3).repeat(n, 1, 1)
    grid = F.affine_grid(theta, (n, 1, h, w), align_corners=False)
    step = torch.tensor([2.0 / w, 2.0 / h])
    return F.grid_sample(img, grid + field.permute(0, 2, 3, 1) * step, align_corners=False)


def alignment_loss(bundle, field, smooth=0.2):
    warped = warp(bundle['src'], field)
    weight = bundle['tissue'] * (1 - bundle['fold'])
    mse = ((warped - bundle['tgt']) ** 2 * weight).sum() / weight.sum().clamp(min=1)
    rigid_w = 1 - bundle['fold']
    dx = (field[..., :, 1:] - field[..., :, :-1]) ** 2 * rigid_w[..., :, 1:]
    dy = (field[..., 1:, :] - field[..., :-1, :]) ** 2 * rigid_w[..., 1:, :]
    return mse + smooth * (dx.mean() + dy.mean()), mse, weight


def main():
    torch.manual_seed(0)
    folder = tempfile.mkdtemp()
    write_sections(folder, 12)
    loader = DataLoader(SectionPairs(folder), batch_size=4, shuffle=True)
    net = Aligner()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(5):
        total, used = 0.0, 0.0
        for bundle in loader:
            bundle = pad_bundle(bundle, PAD)
            field = net(bundle['src'], bundle['tgt'])
            loss, mse, weight = alignment_loss(bundle, field)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += mse.item()
            used += weight.mean().item()
        print('epoch %d mse %.4f valid area %.3f' % (epoch, total / len(loader), used / len(loader)))


if __name__ == '__main__':
    main()
