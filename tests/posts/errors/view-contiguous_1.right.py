# line 13: the patches are viewed after permute, which leaves them non-contiguous; mended by: reshape in place of view
import torch
from torch import nn

torch.manual_seed(0)


def patchify(imgs, p):
    n, c, h, w = imgs.size()
    gh, gw = h // p, w // p
    x = imgs.view(n, c, gh, p, gw, p)
    x = x.permute(0, 2, 4, 3, 5, 1)
    return x.reshape(n, gh * gw, p * p * c)


class MaskedAutoencoder(nn.Module):
    def __init__(self, patch=4, chans=3, n_patches=64, dim=32, keep=0.25):
        super().__init__()
        self.patch, self.keep = patch, keep
        self.enc_in = nn.Linear(patch * patch * chans, dim)
        self.pos = nn.Parameter(torch.randn(1, n_patches, dim) * 0.02)
        self.encoder = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.decoder = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.dec_out = nn.Linear(dim, patch * patch * chans)

    def forward(self, imgs):
        target = patchify(imgs, self.patch)
        n, length, _ = target.shape
        x = self.enc_in(target) + self.pos
        order = torch.rand(n, length).argsort(dim=1)
        restore = order.argsort(dim=1)
        k = int(length * self.keep)
        kept = torch.gather(x, 1, order[:, :k, None].expand(-1, -1, x.size(-1)))
        kept = self.encoder(kept)
        full = torch.cat([kept, self.mask_token.expand(n, length - k, -1)], dim=1)
        full = torch.gather(full, 1, restore[..., None].expand(-1, -1, full.size(-1)))
        pred = self.dec_out(self.decoder(full + self.pos))
        mask = torch.ones(n, length).scatter(1, order[:, :k], 0.0)
        err = (pred - target).pow(2).mean(-1)
        return (err * mask).sum() / mask.sum()


data = torch.rand(48, 3, 32, 32)
mae = MaskedAutoencoder()
opt = torch.optim.AdamW(mae.parameters(), lr=1e-3, weight_decay=0.05)
for it in range(12):
    batch = data[torch.randint(0, len(data), (16,))]
    loss = mae(batch)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(mae.parameters(), 1.0)
    opt.step()
    if it % 4 == 0:
        print(it, loss.item())
