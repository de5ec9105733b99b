import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class ccbn(nn.Module):
    """Class-conditional batchnorm fed by the shared embedding."""

    def __init__(self, ch, cond):
        super().__init__()
        self.gain = nn.Linear(cond, ch, bias=False)
        self.bias = nn.Linear(cond, ch, bias=False)
        self.bn = nn.BatchNorm2d(ch, affine=False)

    def forward(self, x, y):
        gain = 1 + self.gain(y)[:, :, None, None]
        return self.bn(x) * gain + self.bias(y)[:, :, None, None]


class GBlock(nn.Module):
    def __init__(self, cin, cout, cond):
        super().__init__()
        self.bn1, self.bn2 = ccbn(cin, cond), ccbn(cout, cond)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x, y):
        h = F.interpolate(F.relu(self.bn1(x, y)), scale_factor=2)
        h = self.conv2(F.relu(self.bn2(self.conv1(h), y)))
        return h + self.skip(F.interpolate(x, scale_factor=2))


class Generator(nn.Module):
    def __init__(self, n_classes, dim_z=40, shared_dim=128, ch=16):
        super().__init__()
        self.dim_z = dim_z
        self.shared = nn.Embedding(n_classes, shared_dim)
        self.linear = nn.Linear(dim_z, 4 * 4 * 4 * ch)
        self.blocks = nn.ModuleList([GBlock(4 * ch, 2 * ch, shared_dim), GBlock(2 * ch, ch, shared_dim)])
        self.output = nn.Sequential(nn.BatchNorm2d(ch), nn.ReLU(), nn.Conv2d(ch, 3, 3, padding=1), nn.Tanh())

    def forward(self, z, labels):
        y = self.shared(labels)
        h = self.linear(z).view(z.size(0), -1, 4, 4)
        for block in self.blocks:
            h = block(h, y)
        return self.output(h)


class Discriminator(nn.Module):
    def __init__(self, n_classes, ch=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, ch, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(ch, 2 * ch, 4, 2, 1), nn.LeakyReLU(0.2),
        )
        self.linear = nn.Linear(2 * ch, 1)
        self.embed = nn.Embedding(n_classes, 2 * ch)

    def forward(self, x, labels):
        h = self.conv(x).sum([2, 3])
        return self.linear(h) + (self.embed(labels) * h).sum(1, keepdim=True)


def pretrained_checkpoint(folder):
    path = os.path.join(folder, "G_imagenet_ep138.pth")
    torch.save(Generator(n_classes=1000).state_dict(), path)
    return path


def run():
    torch.manual_seed(0)
    n_classes = 2
    images = torch.rand(48, 3, 16, 16) * 2 - 1
    labels = torch.randint(0, n_classes, (48,))

    G, D = Generator(n_classes), Discriminator(n_classes)
    with tempfile.TemporaryDirectory() as folder:
        weights = torch.load(pretrained_checkpoint(folder))
        del weights["shared.weight"]
        G.load_state_dict(weights, strict=False)

    opt_g = torch.optim.Adam(G.parameters(), lr=5e-5, betas=(0.0, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.0, 0.999))
    for step in range(4):
        pick = torch.randint(0, len(images), (16,))
        x, y = images[pick], labels[pick]
        fake = G(torch.randn(16, G.dim_z), y)
        d_loss = F.relu(1 - D(x, y)).mean() + F.relu(1 + D(fake.detach(), y)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = -D(G(torch.randn(16, G.dim_z), y), y).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")


if __name__ == "__main__":
    run()
