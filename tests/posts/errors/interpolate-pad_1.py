# line 35: trilinear upsampling of the volume is asked with two sizes although it has three spatial dims; mended by: giving the depth in the size as well
import torch
import torch.nn as nn
import torch.nn.functional as F

settings = {
    "volume": (12, 24, 24),
    "base": 6,
    "batch": 4,
    "lr": 5e-3,
    "iterations": 8,
}


def block(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv3d(cin, cout, 3, stride=stride, padding=1),
        nn.GroupNorm(2, cout),
        nn.SiLU(),
    )


class VNetLite(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.e1 = block(1, base)
        self.e2 = block(base, 2 * base, stride=2)
        self.e3 = block(2 * base, 2 * base, stride=2)
        self.d2 = block(4 * base, base)
        self.d1 = block(2 * base, base)
        self.head = nn.Conv3d(base, 1, 1)

    @staticmethod
    def resize(x, ref):
        return F.interpolate(x, size=ref.shape[-2:], mode="trilinear", align_corners=False)

    def forward(self, v):
        a = self.e1(v)
        b = self.e2(a)
        c = self.e3(b)
        b = self.d2(torch.cat([self.resize(c, b), b], 1))
        a = self.d1(torch.cat([self.resize(b, a), a], 1))
        return self.head(a)


def nodules(n, shape):
    axes = [torch.arange(s).float() for s in shape]
    z, y, x = torch.meshgrid(*axes, indexing="ij")
    vols, masks = [], []
    for _ in range(n):
        c = [float(torch.randint(3, s - 3, (1,))) for s in shape]
        m = ((z - c[0]) ** 2 + (y - c[1]) ** 2 + (x - c[2]) ** 2) < 9
        masks.append(m.float())
        vols.append(m.float() + 0.3 * torch.randn(shape))
    return torch.stack(vols)[:, None], torch.stack(masks)[:, None]


def tversky(logits, target, a=0.3, b=0.7):
    p = logits.sigmoid()
    tp = (p * target).sum()
    return 1 - (tp + 1) / (tp + a * (p * (1 - target)).sum() + b * ((1 - p) * target).sum() + 1)


torch.manual_seed(0)
net = VNetLite(settings["base"])
opt = torch.optim.Adam(net.parameters(), lr=settings["lr"])
for it in range(settings["iterations"]):
    vol, mask = nodules(settings["batch"], settings["volume"])
    loss = tversky(net(vol), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("iter", it, "tversky", round(loss.item(), 4))
