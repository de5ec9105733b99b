import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralConv2d(nn.Module):
    def __init__(self, cin, cout, m1, m2):
        super().__init__()
        self.m1, self.m2, self.cout = m1, m2, cout
        shape = (2, cin, cout, m1, m2)
        self.w = nn.Parameter(torch.randn(shape, dtype=torch.cfloat) / (cin * cout))

    def forward(self, x):
        b, _, h, w = x.shape
        ft = torch.fft.rfft2(x)
        out = torch.zeros(b, self.cout, h, w // 2 + 1, dtype=ft.dtype, device=x.device)
        top, bottom = slice(None, self.m1), slice(-self.m1, None)
        for k, rows in enumerate((top, bottom)):
            part = ft[:, :, rows, : self.m2]
            out[:, :, rows, : self.m2] = torch.einsum("bixy,ioxy->boxy", part, self.w[k])
        return torch.fft.irfft2(out, s=(h, w))


class Model(nn.Module):
    """Darcy flow: permeability -> pressure, any grid."""

    def __init__(self, width=10, modes=5, depth=2):
        super().__init__()
        self.lift = nn.Linear(3, width)
        self.spec = nn.ModuleList(SpectralConv2d(width, width, modes, modes) for _ in range(depth))
        self.skip = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(depth))
        self.down = nn.Linear(width, 1)

    def grid(self, x):
        b, h, w, _ = x.shape
        gy = torch.linspace(0, 1, h, device=x.device).view(1, h, 1, 1).expand(b, h, w, 1)
        gx = torch.linspace(0, 1, w, device=x.device).view(1, 1, w, 1).expand(b, h, w, 1)
        return torch.cat([x, gy, gx], dim=-1)

    def forward(self, a):
        x = self.lift(self.grid(a)).permute(0, 3, 1, 2)
        for spec, skip in zip(self.spec, self.skip):
            x = F.gelu(spec(x) + skip(x))
        return self.down(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def example_inputs():
    return (torch.rand(3, 20, 24, 1),)
