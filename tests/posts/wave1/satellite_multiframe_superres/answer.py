import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class ImageSets(Dataset):
    """Low resolution views of a scene with a high resolution image, in files of several sizes."""

    SIZES = [(32, 64), (64, 32), (64, 64), (32, 64), (64, 32), (64, 64)]

    def __init__(self, min_views=9, scale=3):
        rng = np.random.RandomState(5)
        self.lrs = [rng.rand(rng.randint(min_views, 24), h, w).astype(np.float32) for h, w in self.SIZES]
        self.hrs = [rng.rand(h * scale, w * scale).astype(np.float32) for h, w in self.SIZES]
        self.scale = scale

    def __len__(self):
        return len(self.lrs)

    def __getitem__(self, index):
        lrs, hr = self.lrs[index][:, :32, :32], self.hrs[index][:32 * self.scale, :32 * self.scale]
        return torch.from_numpy(lrs), torch.from_numpy(hr)


class collateFunction:
    """Pads the number of views to min_L; returns views, alphas and targets."""

    def __init__(self, min_L=24):
        self.min_L = min_L

    def __call__(self, batch):
        lr_batch, alpha_batch, hr_batch = [], [], []
        for lrs, hr in batch:
            L, H, W = lrs.shape
            if L >= self.min_L:
                lr_batch.append(lrs[:self.min_L])
                alpha_batch.append(torch.ones(self.min_L))
            else:
                lr_batch.append(torch.cat([lrs, torch.zeros(self.min_L - L, H, W)], dim=0))
                alpha_batch.append(torch.cat([torch.ones(L), torch.zeros(self.min_L - L)]))
            hr_batch.append(hr)
        padded_lr_batch = torch.stack(lr_batch, dim=0)
        return padded_lr_batch, torch.stack(alpha_batch, dim=0), torch.stack(hr_batch, dim=0)


class FusionNet(nn.Module):
    def __init__(self, width=16, scale=3):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.PReLU())
        self.decode = nn.Sequential(nn.Conv2d(width, scale ** 2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, lrs, alphas):
        b, n, h, w = lrs.shape
        f = self.encode(lrs.view(b * n, 1, h, w)).view(b, n, -1, h, w)
        weight = (alphas / alphas.sum(1, keepdim=True)).view(b, n, 1, 1, 1)
        return self.decode((f * weight).sum(1)).squeeze(1)


loader = DataLoader(ImageSets(), batch_size=4, shuffle=False, collate_fn=collateFunction())
model = FusionNet()
opt = torch.optim.Adam(model.parameters(), lr=7e-4)
for epoch in range(2):
    for lrs, alphas, hrs in loader:
        sr = model(lrs, alphas)
        loss = F.mse_loss(sr, hrs)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print('epoch', epoch, 'psnr', -10 * np.log10(loss.item()))
