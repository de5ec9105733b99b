import torch
import torch.nn as nn
import torch.nn.functional as F


def crop_like(a, b):
    h, w = min(a.shape[-2], b.shape[-2]), min(a.shape[-1], b.shape[-1])
    return a[..., :h, :w], b[..., -h:, -w:]


class PatchD(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 8, 4, 2)
        self.c2 = nn.Conv2d(8, 8, (4, 3), (1, 2), dilation=(1, 2))
        self.c3 = nn.Conv2d(16, 1, 2)
        self.back = nn.ConvTranspose2d(8, 8, 3, 2, output_padding=(1, 0))

    def forward(self, x):
        x = F.pad(x, (2, 1, 0, 3), value=-1.0)
        a = F.leaky_relu(self.c1(x), 0.2)
        b = F.leaky_relu(self.c2(a), 0.2)
        a, b = crop_like(a, self.back(b))
        return self.c3(torch.cat((a, b), 1))


def hinge(real, fake):
    return F.relu(1 - real).mean() + F.relu(1 + fake).mean()


def main(real, fake):
    torch.manual_seed(3)
    net = PatchD()
    both = net(torch.cat([real, fake]))
    r, f = both.split([len(real), len(fake)])
    # relativistic: every real map against the average fake map and the other way round
    loss = hinge(r - f.mean(0, keepdim=True), f - r.mean(0))
    tiles = F.unfold(both, (3, 2), stride=(3, 2)).amax(1)
    alpha = torch.rand(len(real), 1, 1, 1)
    mixed = torch.lerp(real, fake[: len(real)], alpha.expand_as(real))
    return loss, r.squeeze(1), tiles, net(mixed).flatten(1).std(-1)


def example_inputs():
    return torch.rand(2, 3, 21, 26), torch.rand(5, 3, 21, 26)
