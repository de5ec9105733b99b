import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

IMAGE_SIZE = 256


def down(i, o, kernel=5, stride=2):
    return nn.Conv2d(i, o, kernel, stride, kernel // 2)


def up(i, o, kernel=5, stride=2):
    return nn.ConvTranspose2d(i, o, kernel, stride, kernel // 2, output_padding=stride - 1)


class Photos(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        yy, xx = np.mgrid[0:IMAGE_SIZE, 0:IMAGE_SIZE] / IMAGE_SIZE
        waves = [np.sin(rng.uniform(2, 20) * xx + rng.uniform(2, 20) * yy) for _ in range(3)]
        return torch.from_numpy((0.5 + 0.4 * np.stack(waves)).astype('float32'))


class GaussianConditional(nn.Module):
    def forward(self, y, scales, means):
        if self.training:
            outputs = y + torch.rand_like(y) - 0.5
        else:
            outputs = torch.round(y - means) + means
        values = (outputs - means).abs()
        scales = F.softplus(scales).clamp(min=0.11)
        cdf = lambda v: 0.5 * torch.erfc(-v / (scales * math.sqrt(2)))
        likelihood = cdf(0.5 - values) - cdf(-0.5 - values)
        return outputs, likelihood.clamp(min=1e-9)


class MeanScaleHyperprior(nn.Module):
    def __init__(self, N=16, M=24):
        super().__init__()
        self.g_a = nn.Sequential(down(3, N), nn.ReLU(), down(N, N), nn.ReLU(), down(N, N), nn.ReLU(), down(N, M))
        self.g_s = nn.Sequential(up(M, N), nn.ReLU(), up(N, N), nn.ReLU(), up(N, N), nn.ReLU(), up(N, 3))
        self.h_a = nn.Sequential(down(M, N, 3, 1), nn.LeakyReLU(), down(N, N), nn.LeakyReLU(), down(N, N))
        self.h_s = nn.Sequential(up(N, M), nn.LeakyReLU(), up(M, M), nn.LeakyReLU(), down(M, 2 * M, 3, 1))
        self.gaussian = GaussianConditional()
        self.log_scale_z = nn.Parameter(torch.zeros(1, N, 1, 1))

    def forward(self, x):
        y = self.g_a(x)
        z = self.h_a(y)
        z_hat, z_likelihood = self.gaussian(z, self.log_scale_z.expand_as(z), torch.zeros_like(z))
        scales, means = self.h_s(z_hat).chunk(2, dim=1)
        y_hat, y_likelihood = self.gaussian(y, scales, means)
        return self.g_s(y_hat), (y_likelihood, z_likelihood)


def rate_distortion(x, x_hat, likelihoods, lmbda=0.01):
    n_pixels = x.size(0) * x.size(2) * x.size(3)
    bpp = sum(-torch.log2(l).sum() for l in likelihoods) / n_pixels
    mse = F.mse_loss(x_hat, x)
    return lmbda * 255 ** 2 * mse + bpp, bpp, mse


def main():
    torch.manual_seed(0)
    model = MeanScaleHyperprior()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for x in DataLoader(Photos(12), batch_size=4, shuffle=True):
            x_hat, likelihoods = model(x)
            loss, bpp, mse = rate_distortion(x, x_hat, likelihoods)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        print('epoch %d loss %.3f bpp %.3f mse %.4f' % (epoch, loss.item(), bpp.item(), mse.item()))


if __name__ == '__main__':
    main()
