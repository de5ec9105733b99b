# Masked autoencoder (He et al. 2022), reduced to 32x32 synthetic shapes.
from functools import partial

import numpy as np
import torch
import torch.nn as nn
from einops import rearrange
from torch.utils.data import DataLoader, TensorDataset


def shapes(n, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:32, :32]
    out = np.zeros((n, 3, 32, 32), dtype=np.float32)
    for i in range(n):
        cx, cy, r = rng.uniform(8, 24), rng.uniform(8, 24), rng.uniform(5, 9)
        inside = (xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2 if i % 2 else np.maximum(abs(xx - cx), abs(yy - cy)) < r
        bg, fg = rng.uniform(0, 0.4, 3), rng.uniform(0.6, 1, 3)
        out[i] = np.where(inside, fg[:, None, None], bg[:, None, None])
    return torch.from_numpy(out)


def block(dim, heads):
    return nn.TransformerEncoderLayer(dim, heads, dim_feedforward=2 * dim, dropout=0.0, activation="gelu",
                                      batch_first=True, norm_first=True)


class MaskedAutoencoder(nn.Module):
    def __init__(self, img=32, patch=4, dim=64, dec_dim=48, depth=2, dec_depth=1, heads=4):
        super().__init__()
        self.patch = patch
        n = (img // patch) ** 2
        self.embed = nn.Linear(3 * patch * patch, dim)
        self.pos = nn.Parameter(torch.randn(1, n, dim) * 0.02)
        self.encoder = nn.Sequential(*[block(dim, heads) for _ in range(depth)], nn.LayerNorm(dim))
        self.to_decoder = nn.Linear(dim, dec_dim)
        self.mask_token = nn.Parameter(torch.randn(1, 1, dec_dim) * 0.02)
        self.dec_pos = nn.Parameter(torch.randn(1, n, dec_dim) * 0.02)
        self.decoder = nn.Sequential(*[block(dec_dim, heads) for _ in range(dec_depth)], nn.LayerNorm(dec_dim))
        self.to_pixels = nn.Linear(dec_dim, 3 * patch * patch)

    def patchify(self, x):
        return rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=self.patch, q=self.patch)

    def random_masking(self, x, ratio):
        B, N, D = x.shape
        n_keep = int(N * (1 - ratio))
        ids_shuffle = torch.rand(B, N, device=x.device).argsort(dim=1)
        ids_restore = ids_shuffle.argsort(dim=1)
        ids_keep = ids_shuffle[:, :n_keep]
        x_kept = torch.gather(x, 1, ids_keep.unsqueeze(-1).expand(-1, -1, D))
        mask = torch.ones(B, N, device=x.device)
        mask[:, :n_keep] = 0
        mask = torch.gather(mask, 1, ids_restore)
        return x_kept, mask, ids_restore

    def forward_encoder(self, patches, ratio):
        x = self.embed(patches) + self.pos
        x, mask, ids_restore = self.random_masking(x, ratio)
        return self.encoder(x), mask, ids_restore

    def forward_decoder(self, latent, ids_restore):
        x = self.to_decoder(latent)
        B, n_keep, D = x.shape
        fill = self.mask_token.expand(B, ids_restore.size(1) - n_keep, -1)
        x = torch.cat([x, fill], dim=1)
        x = torch.gather(x, 1, ids_restore.unsqueeze(-1).expand(-1, -1, D))
        return self.to_pixels(self.decoder(x + self.dec_pos))

    def forward(self, imgs, ratio=0.75):
        target = self.patchify(imgs)
        latent, mask, ids_restore = self.forward_encoder(target, ratio)
        pred = self.forward_decoder(latent, ids_restore)
        loss = ((pred - target) ** 2).mean(-1)
        return (loss * mask).sum() / mask.sum(), pred, mask


if __name__ == "__main__":
    torch.manual_seed(0)
    data = shapes(256) * 2 - 1
    loader = DataLoader(TensorDataset(data), batch_size=32, shuffle=True)
    make_opt = partial(torch.optim.AdamW, lr=2e-3, betas=(0.9, 0.95), weight_decay=0.05)
    model = MaskedAutoencoder()
    opt = make_opt(model.parameters())
    for epoch in range(4):
        model.train()
        losses = []
        for (imgs,) in loader:
            loss, _, _ = model(imgs)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: reconstruction {np.mean(losses):.4f}")
