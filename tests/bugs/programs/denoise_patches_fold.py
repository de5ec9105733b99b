import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    """Patch based denoising of X-ray images with a small bottleneck."""

    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(64, 20)
        self.dec = nn.Linear(20, 64)

    def patches(self, img):
        return F.unfold(img, kernel_size=8)

    def join(self, cols, size):
        ones = torch.ones(1, 1, *size, device=cols.device)
        weight = F.fold(
            F.unfold(ones, kernel_size=8, stride=4), size, kernel_size=8, stride=4
        )
        out = F.fold(cols, size, kernel_size=8, stride=4)
        return out / weight

    def forward(self, img):
        size = img.shape[-2:]
        cols = self.patches(img).transpose(1, 2)
        mean = cols.mean(dim=-1, keepdim=True)
        code = F.softplus(self.enc(cols - mean))
        cols = self.dec(code) + mean
        return self.join(cols.transpose(1, 2), size), code


def example_inputs():
    return (torch.randn(2, 1, 32, 40),)
