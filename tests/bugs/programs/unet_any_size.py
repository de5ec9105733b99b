import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )


class Model(nn.Module):
    def __init__(self, widths=(8, 16, 24, 32), n_out=2):
        super().__init__()
        self.inc = Block(3, widths[0])
        pairs = list(zip(widths[:-1], widths[1:]))
        self.down = nn.ModuleList(Block(a, b) for a, b in pairs)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs)
        )
        self.fuse = nn.ModuleList(Block(2 * a, a) for a, _ in reversed(pairs))
        self.outc = nn.Conv2d(widths[0], n_out, 1)

    def forward(self, x):
        skips = []
        x = self.inc(x)
        for block in self.down:
            skips.append(x)
            x = block(F.max_pool2d(x, 2))
        for up, fuse in zip(self.up, self.fuse):
            skip = skips.pop()
            x = up(x)
            dy = skip.size(-2) - x.size(-2)
            dx = skip.size(-1) - x.size(-1)
            x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            x = fuse(torch.cat([skip, x], dim=1))
        return self.outc(x)


def example_inputs():
    return (torch.rand(1, 3, 45, 61),)
