import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

C_DIM = 10


class Faces(Dataset):
    def __init__(self, n=800, size=128):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.rand(3, self.size, self.size) * 2 - 1, i % C_DIM


def norm_conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1), nn.InstanceNorm2d(cout, affine=True), nn.ReLU())


class Generator(nn.Module):
    def __init__(self, dim=64, repeat=6):
        super().__init__()
        self.down = nn.Sequential(norm_conv(3 + C_DIM, dim), norm_conv(dim, 2 * dim, 2), norm_conv(2 * dim, 4 * dim, 2))
        self.blocks = nn.ModuleList([nn.Sequential(norm_conv(4 * dim, 4 * dim), norm_conv(4 * dim, 4 * dim))
                                     for _ in range(repeat)])
        self.up1 = norm_conv(4 * dim, 2 * dim)
        self.up2 = norm_conv(2 * dim, dim)
        self.out = nn.Conv2d(dim, 3, 7, padding=3)

    def forward(self, x, c):
        c = c[:, :, None, None].expand(-1, -1, x.size(2), x.size(3))
        h = self.down(torch.cat([x, c], dim=1))
        for block in self.blocks:
            h = h + block(h)
        h = self.up1(F.interpolate(h, scale_factor=2))
        h = self.up2(F.interpolate(h, scale_factor=2))
        return torch.tanh(self.out(h))


class Discriminator(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        widths = [3] + [dim * 2 ** i for i in range(5)]
        self.main = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.LeakyReLU(0.01))
                                    for a, b in zip(widths, widths[1:])])
        self.src = nn.Conv2d(widths[-1], 1, 3, padding=1)
        self.cls = nn.Linear(widths[-1], C_DIM)

    def forward(self, x):
        h = self.main(x)
        return self.src(h), self.cls(h.mean(dim=(2, 3)))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(Faces(), batch_size=24, shuffle=True, drop_last=True)
G, D = Generator().to(device), Discriminator().to(device)
g_optimizer = torch.optim.Adam(G.parameters(), 1e-4, (0.5, 0.999))
d_optimizer = torch.optim.Adam(D.parameters(), 1e-4, (0.5, 0.999))
x_fixed = next(iter(loader))[0].to(device)
for step, (x, label) in enumerate(loader):
    x, label = x.to(device), label.to(device)
    c = F.one_hot(label.roll(1), C_DIM).float()
    src, cls = D(x)
    d_loss = D(G(x, c).detach())[0].mean() - src.mean() + F.cross_entropy(cls, label)
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    src, cls = D(G(x, c))
    g_loss = F.cross_entropy(cls, label.roll(1)) - src.mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    if (step + 1) % 10 == 0:
        x_fake_list = [x_fixed]
        for i in range(C_DIM):
            c_fixed = F.one_hot(torch.full((len(x_fixed),), i, device=device), C_DIM).float()
            x_fake_list.append(G(x_fixed, c_fixed))
        grid = torch.cat(x_fake_list, dim=3).cpu()
        print(step + 1, d_loss.item(), g_loss.item(), grid.shape)
