import argparse
import time

import torch
import torch.nn as nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset


def patchify(imgs, p):
    n, c, h, w = imgs.shape
    x = imgs.reshape(n, c, h // p, p, w // p, p)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(n, (h // p) * (w // p), p * p * c)


class MAE(nn.Module):
    def __init__(self, num_patches, patch_dim, dim=64, depth=2, heads=4, mask_ratio=0.75):
        super().__init__()
        self.mask_ratio = mask_ratio
        self.embed = nn.Linear(patch_dim, dim)
        self.enc_pos = nn.Parameter(torch.randn(1, num_patches, dim) * 0.02)
        self.dec_pos = nn.Parameter(torch.randn(1, num_patches, dim) * 0.02)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        enc = nn.TransformerEncoderLayer(dim, heads, dim * 2, batch_first=True, dropout=0.0)
        dec = nn.TransformerEncoderLayer(dim, heads, dim * 2, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(enc, depth)
        self.decoder = nn.TransformerEncoder(dec, 1)
        self.head = nn.Linear(dim, patch_dim)

    def forward(self, patches):
        n, l, _ = patches.shape
        keep = int(l * (1 - self.mask_ratio))
        order = torch.rand(n, l, device=patches.device).argsort(dim=1)
        restore = order.argsort(dim=1)
        tokens = self.embed(patches) + self.enc_pos
        dim = tokens.size(-1)
        visible = tokens.gather(1, order[:, :keep, None].expand(-1, -1, dim))
        latent = self.encoder(visible)
        full = torch.cat([latent, self.mask_token.expand(n, l - keep, -1)], dim=1)
        full = full.gather(1, restore[:, :, None].expand(-1, -1, dim)) + self.dec_pos
        pred = self.head(self.decoder(full))
        mask = (restore >= keep).float()
        return pred, mask


def mae_loss(pred, target, mask):
    err = ((pred - target) ** 2).mean(dim=-1)
    return (err * mask).sum() / mask.sum()


def fake_cifar(n):
    coarse = torch.rand(n, 3, 4, 4)
    return nn.functional.interpolate(coarse, size=32, mode='bilinear', align_corners=False)


def main(args):
    torch.manual_seed(args.seed)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    loader = DataLoader(TensorDataset(fake_cifar(args.n_images)), batch_size=args.batch_size,
                        shuffle=True, drop_last=True)
    num_patches = (32 // args.patch) ** 2
    model = MAE(num_patches, args.patch ** 2 * 3).to(device)
    optimizer = AdamW(model.parameters(), lr=args.base_lr, betas=(0.9, 0.95), weight_decay=0.05)
    scheduler = CosineAnnealingLR(optimizer, T_max=args.epochs, eta_min=args.base_lr * 0.01)

    for epoch in range(1, args.epochs + 1):
        model.train()
        start = time.time()
        total, seen = 0.0, 0
        for imgs, in loader:
            target = patchify(imgs.to(device), args.patch)
            pred, mask = model(target)
            loss = mae_loss(pred, target, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * imgs.size(0)
            seen += imgs.size(0)
        scheduler.step()
        lr = optimizer.param_groups[0]['lr']
        print('epoch %2d loss %.5f lr %.6f time %.1fs' % (epoch, total / seen, lr, time.time() - start))


if __name__ == '__main__':
    parser = argparse.ArgumentParser('MAE pre-training')
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--batch_size', type=int, default=32)
    parser.add_argument('--n_images', type=int, default=224)
    parser.add_argument('--patch', type=int, default=4)
    parser.add_argument('--base_lr', type=float, default=1e-3)
    parser.add_argument('--seed', type=int, default=2022)
    main(parser.parse_args())
