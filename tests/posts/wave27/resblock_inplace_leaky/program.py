import torch
import torch.nn as nn
import torch.nn.functional as F


class PreActConv(nn.Module):
    def __init__(self, in_dim, out_dim, ks, padding=0, activation="lrelu"):
        super().__init__()
        self.padding = padding
        if activation == "lrelu":
            self.activation = nn.LeakyReLU(0.2, inplace=True)
        else:
            self.activation = None
        self.conv = nn.Conv2d(in_dim, out_dim, ks)

    def forward(self, x):
        if self.activation is not None:
            x = self.activation(x)
        if self.padding:
            x = F.pad(x, [self.padding] * 4, mode="reflect")
        return self.conv(x)


class ResBlock(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        hidden = min(in_dim, out_dim)
        self.conv_0 = PreActConv(in_dim, hidden, 3, padding=1)
        self.conv_1 = PreActConv(hidden, out_dim, 3, padding=1)
        self.conv_s = PreActConv(in_dim, out_dim, 1, activation="none")

    def forward(self, x):
        shortcut = self.conv_s(x)
        dx = self.conv_0(x)
        dx = self.conv_1(dx)
        return shortcut + dx


class PatchDiscriminator(nn.Module):
    def __init__(self, num_classes, nf=16, n_layers=2):
        super().__init__()
        layers = [nn.Conv2d(3, nf, 7, padding=3)]
        for _ in range(n_layers):
            layers += [ResBlock(nf, nf * 2), nn.AvgPool2d(2)]
            nf *= 2
        self.features = nn.Sequential(*layers)
        self.classifier = PreActConv(nf, num_classes, 1)

    def forward(self, x, labels):
        feat = self.features(x)
        out = self.classifier(feat)
        index = torch.arange(out.size(0), device=out.device)
        return out[index, labels]


class Generator(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, nf, 3, padding=1), nn.InstanceNorm2d(nf), nn.ReLU(),
            nn.Conv2d(nf, nf, 3, padding=1), nn.InstanceNorm2d(nf), nn.ReLU(),
            nn.Conv2d(nf, 3, 3, padding=1), nn.Tanh(),
        )

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    num_classes = 5
    gen = Generator().to(device)
    dis = PatchDiscriminator(num_classes).to(device)
    opt_d = torch.optim.RMSprop(dis.parameters(), lr=1e-4)
    opt_g = torch.optim.RMSprop(gen.parameters(), lr=1e-4)

    for it in range(4):
        content = torch.rand(4, 3, 32, 32, device=device) * 2 - 1
        style = torch.rand(4, 3, 32, 32, device=device) * 2 - 1
        labels = torch.randint(0, num_classes, (4,), device=device)

        with torch.no_grad():
            fake = gen(content)
        d_loss = F.relu(1 - dis(style, labels)).mean() + F.relu(1 + dis(fake, labels)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = -dis(gen(content), labels).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        print(f"iter {it} d_loss {d_loss.item():.4f} g_loss {g_loss.item():.4f}")


if __name__ == "__main__":
    main()
