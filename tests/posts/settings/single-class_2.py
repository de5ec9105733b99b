# line 39: log_softmax over a single output channel of a segmentation net is always 0: so is the loss of it
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class MiniUNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.down = conv_block(1, base)
        self.mid = conv_block(base, 2 * base)
        self.up = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.last = nn.Conv2d(2 * base, 1, kernel_size=1)

    def forward(self, x):
        a = self.down(x)
        b = self.up(self.mid(F.max_pool2d(a, 2)))
        return self.last(torch.cat([a, b], dim=1))


def lesion_batch(n, gen):
    mask = torch.zeros(n, 1, 16, 16)
    for k in range(n):
        r, c = torch.randint(0, 10, (2,), generator=gen).tolist()
        mask[k, :, r:r + 6, c:c + 6] = 1
    return mask + 0.5 * torch.randn(mask.shape, generator=gen), mask


class Segmenter:
    def __init__(self):
        self.net = MiniUNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def objective(self, score, mask):
        logp = score.log_softmax(dim=1)
        return -(mask * logp).sum(dim=1).mean()

    def train(self, steps, gen):
        self.net.train()
        for _ in range(steps):
            img, mask = lesion_batch(6, gen)
            loss = self.objective(self.net(img), mask)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


torch.manual_seed(0)
gen = torch.Generator().manual_seed(0)
seg = Segmenter()
print("loss", seg.train(20, gen))
seg.net.eval()
with torch.no_grad():
    img, mask = lesion_batch(10, gen)
    hit = (seg.net(img) > 0) == mask.bool()
print("pixel accuracy", hit.float().mean().item())
