import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, num_freqs):
        super().__init__()
        self.register_buffer("freqs", 2.0 ** torch.arange(num_freqs))
        self.out_dim = 3 + 3 * 2 * num_freqs

    def forward(self, x):
        angles = (x[..., None, :] * self.freqs[:, None]).flatten(-2)
        return torch.cat([x, torch.sin(angles), torch.cos(angles)], dim=-1)


class NeRF(nn.Module):
    def __init__(self, D=4, W=16, skips=(2,), n_samples=12, near=2.0, far=6.0):
        super().__init__()
        self.n_samples, self.near, self.far = n_samples, near, far
        self.skips = skips
        self.embed_pts = Embedder(4)
        self.embed_dirs = Embedder(2)
        ch = self.embed_pts.out_dim
        self.pts_linears = nn.ModuleList(
            [nn.Linear(ch, W)]
            + [nn.Linear(W + ch if i in skips else W, W) for i in range(D - 1)]
        )
        self.alpha_linear = nn.Linear(W, 1)
        self.feature_linear = nn.Linear(W, W)
        self.views_linear = nn.Linear(W + self.embed_dirs.out_dim, W // 2)
        self.rgb_linear = nn.Linear(W // 2, 3)

    def query(self, pts, viewdirs):
        x = self.embed_pts(pts)
        h = x
        for i, layer in enumerate(self.pts_linears):
            h = F.relu(layer(h))
            if i in self.skips:
                h = torch.cat([x, h], -1)
        alpha = self.alpha_linear(h)
        h = torch.cat([self.feature_linear(h), self.embed_dirs(viewdirs)], -1)
        return self.rgb_linear(F.relu(self.views_linear(h))), alpha.squeeze(-1)

    def forward(self, rays_o, rays_d):
        t = torch.linspace(self.near, self.far, self.n_samples)
        pts = rays_o[:, None, :] + rays_d[:, None, :] * t[None, :, None]
        viewdirs = F.normalize(rays_d, dim=-1)[:, None, :].expand(pts.shape)
        rgb, sigma = self.query(pts, viewdirs)
        dists = (t[1:] - t[:-1]).mean()
        alpha = 1.0 - torch.exp(-F.relu(sigma) * dists)
        through = torch.cumprod(1.0 - alpha + 1e-10, dim=-1)
        ones = torch.ones_like(through[:, :1])
        weights = alpha * torch.cat([ones, through[:, :-1]], dim=-1)
        color = (weights[..., None] * torch.sigmoid(rgb)).sum(dim=-2)
        return color, (weights * t).sum(dim=-1)
