"""
Accelerated MRI (single coil): unrolled reconstruction with learned denoisers and
data consistency in k-space. Loss is taken in k-space and in the image domain.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SIZE = 32


def fft2c(img):
    return torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(img, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))


def ifft2c(k):
    return torch.fft.fftshift(torch.fft.ifft2(torch.fft.ifftshift(k, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))


class Phantoms(Dataset):
    def __init__(self, n, seed, accel=3):
        g = torch.Generator().manual_seed(seed)
        lin = torch.linspace(-1, 1, SIZE)
        yy, xx = torch.meshgrid(lin, lin, indexing="ij")
        img = torch.zeros(n, SIZE, SIZE)
        for _ in range(4):
            cx, cy = torch.rand(2, n, 1, 1, generator=g) * 1.2 - 0.6
            rx, ry = torch.rand(2, n, 1, 1, generator=g) * 0.35 + 0.1
            img += (((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2 < 1) * torch.rand(n, 1, 1, generator=g)
        phase = 0.5 * torch.randn(n, 1, 1, generator=g) * xx
        self.image = torch.polar(img, phase.expand_as(img).contiguous())
        mask = torch.rand(SIZE, generator=g) < 1 / accel
        mask[SIZE // 2 - 4:SIZE // 2 + 4] = True
        self.mask = mask.expand(SIZE, SIZE)

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        kspace = fft2c(self.image[i])
        return kspace * self.mask, self.mask, kspace


class Cascade(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(2, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2, 3, padding=1),
        )

    def forward(self, k, k0, mask):
        x = torch.view_as_real(ifft2c(k)).permute(0, 3, 1, 2)
        x = x + self.cnn(x)
        x = torch.view_as_complex(x.permute(0, 2, 3, 1).contiguous())
        return torch.where(mask, k0, fft2c(x))


class Unrolled(nn.Module):
    def __init__(self, n_cascades=3):
        super().__init__()
        self.cascades = nn.ModuleList(Cascade() for _ in range(n_cascades))

    def forward(self, k0, mask):
        k = k0
        for cascade in self.cascades:
            k = cascade(k, k0, mask)
        return k


def recon_loss(k_pred, k_true, weight=0.5):
    k_term = (k_pred - k_true).abs().pow(2).mean()
    image_term = (ifft2c(k_pred).abs() - ifft2c(k_true).abs()).abs().mean()
    return k_term + weight * image_term


def psnr(k_pred, k_true):
    a, b = ifft2c(k_pred).abs(), ifft2c(k_true).abs()
    mse = ((a - b) ** 2).mean(dim=(-2, -1))
    peak = b.amax(dim=(-2, -1))
    return (20 * torch.log10(peak) - 10 * torch.log10(mse)).mean()


torch.manual_seed(0)
train = DataLoader(Phantoms(200, seed=1), batch_size=10, shuffle=True)
k0, mask, k_full = next(iter(DataLoader(Phantoms(30, seed=2), batch_size=30)))
net = Unrolled()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
print(f"zero filled {psnr(k0, k_full):.2f} dB")
for epoch in range(4):
    for under, m, full in train:
        loss = recon_loss(net(under, m), full)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(f"epoch {epoch} loss {loss.item():.4f} test {psnr(net(k0, mask), k_full):.2f} dB")
