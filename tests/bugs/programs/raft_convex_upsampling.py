import torch
import torch.nn as nn
import torch.nn.functional as F


class CorrLookup(nn.Module):
    """All-pairs correlation sampled around the current flow."""

    def __init__(self, radius=2):
        super().__init__()
        self.r = radius

    def forward(self, f1, f2, coords):
        b, d, h, w = f1.shape
        corr = (f1.flatten(2).mT @ f2.flatten(2)) / d**0.5
        corr = corr.view(b * h * w, 1, h, w)
        span = torch.linspace(-self.r, self.r, 2 * self.r + 1, device=f1.device)
        delta = torch.stack(torch.meshgrid(span, span, indexing="ij"), dim=-1)
        at = coords.permute(0, 2, 3, 1).reshape(b * h * w, 1, 1, 2) + delta
        size = at.new_tensor([w - 1, h - 1])
        out = F.grid_sample(corr, 2 * at / size - 1, align_corners=True)
        return out.view(b, h, w, -1).permute(0, 3, 1, 2)


class Model(nn.Module):
    def __init__(self, dim=16, up=8):
        super().__init__()
        self.up = up
        self.feat = nn.Conv2d(3, dim, up, stride=up)
        self.lookup = CorrLookup()
        self.delta = nn.Conv2d(25 + 2, 2, 3, padding=1)
        self.mask = nn.Conv2d(dim, 9 * up * up, 1)

    def upsample(self, flow, mask):
        n, _, h, w = flow.shape
        mask = mask.view(n, 1, 9, self.up, self.up, h, w).softmax(dim=2)
        patch = F.unfold(self.up * flow, 3, padding=1).view(n, 2, 9, 1, 1, h, w)
        fine = (mask * patch).sum(dim=2)
        return fine.permute(0, 1, 4, 2, 5, 3).reshape(n, 2, self.up * h, self.up * w)

    def forward(self, a, b):
        f1, f2 = self.feat(a), self.feat(b)
        n, _, h, w = f1.shape
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        base = torch.stack([xs, ys]).float().to(a.device).expand(n, -1, -1, -1)
        flow = torch.zeros_like(base)
        for _ in range(2):
            corr = self.lookup(f1, f2, base + flow)
            flow = flow + self.delta(torch.cat([corr, flow], dim=1))
        return self.upsample(flow, self.mask(f1))


def example_inputs():
    return torch.rand(2, 3, 48, 64), torch.rand(2, 3, 48, 64)
