import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Mish(nn.Module):
    def forward(self, x):
        return x * torch.tanh(F.softplus(x))


def build_norm(norm, channels):
    if norm == "bn":
        return nn.BatchNorm2d(channels)
    return nn.GroupNorm(4, channels)


def build_activation(name):
    table = {"mish": Mish, "relu": nn.ReLU, "leaky": lambda: nn.LeakyReLU(0.1), "linear": nn.Identity}
    return table[name]()


class Convolutional(nn.Module):
    def __init__(self, cin, cout, k, stride=1, norm="bn", activate="relu"):
        super(Convolutional, self).__init__()
        self.conv = nn.Conv2d(cin, cout, k, stride=stride, padding=k // 2, bias=False)
        self.norm = build_norm(norm, cout)
        self.act = build_activation(activate)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class CSPBlock(nn.Module):
    def __init__(self, channels, hidden=None):
        super(CSPBlock, self).__init__()
        hidden = hidden or channels
        self.reduce = Convolutional(channels, hidden, 1)
        self.expand = Convolutional(hidden, channels, 3)

    def forward(self, x):
        residual = x
        out = self.reduce(x)
        out = self.expand(out)
        out = out + residual
        return out


class CSPStage(nn.Module):
    def __init__(self, cin, cout, n_blocks):
        super(CSPStage, self).__init__()
        half = cout // 2
        self.down = Convolutional(cin, cout, 3, stride=2)
        self.left = Convolutional(cout, half, 1)
        self.right = Convolutional(cout, half, 1)
        self.blocks = nn.Sequential(*[CSPBlock(half) for _ in range(n_blocks)])
        self.after = Convolutional(half, half, 1)
        self.fuse = Convolutional(cout, cout, 1)

    def forward(self, x):
        x = self.down(x)
        a = self.left(x)
        b = self.after(self.blocks(self.right(x)))
        return self.fuse(torch.cat([a, b], dim=1))


class CSPDarknet(nn.Module):
    def __init__(self, stem=16, widths=(32, 64, 128), depths=(1, 2, 2)):
        super(CSPDarknet, self).__init__()
        self.stem = Convolutional(3, stem, 3)
        stages, cin = [], stem
        for w, d in zip(widths, depths):
            stages.append(CSPStage(cin, w, d))
            cin = w
        self.stages = nn.ModuleList(stages)

    def forward(self, x):
        x = self.stem(x)
        outs = []
        for stage in self.stages:
            x = stage(x)
            outs.append(x)
        return outs[-2:]


class Detector(nn.Module):
    def __init__(self, num_classes=4):
        super(Detector, self).__init__()
        self.backbone = CSPDarknet()
        self.heads = nn.ModuleList([nn.Conv2d(64, 5 + num_classes, 1), nn.Conv2d(128, 5 + num_classes, 1)])

    def forward(self, x):
        return [h(f) for h, f in zip(self.heads, self.backbone(x))]


class Boxes(Dataset):
    def __init__(self, n=16, size=64, num_classes=4):
        self.n, self.size, self.c = n, size, num_classes

    def __len__(self):
        return self.n

    def grid(self, s):
        t = torch.zeros(5 + self.c, s, s)
        i, j = torch.randint(0, s, (2,)).tolist()
        t[:4, i, j] = torch.rand(4)
        t[4, i, j] = 1
        t[5 + torch.randint(0, self.c, (1,)).item(), i, j] = 1
        return t

    def __getitem__(self, idx):
        return torch.rand(3, self.size, self.size), self.grid(self.size // 4), self.grid(self.size // 8)


def yolo_loss(preds, targets):
    total = 0
    for p, t in zip(preds, targets):
        obj = t[:, 4]
        total = total + F.binary_cross_entropy_with_logits(p[:, 4], obj)
        mask = obj.unsqueeze(1)
        total = total + ((torch.sigmoid(p[:, :4]) - t[:, :4]) ** 2 * mask).sum() / mask.sum()
        cls = F.binary_cross_entropy_with_logits(p[:, 5:], t[:, 5:], reduction="none")
        total = total + (cls * mask).sum() / mask.sum()
    return total


class Trainer(object):
    def __init__(self, epochs=2):
        self.model = Detector()
        self.loader = DataLoader(Boxes(), batch_size=4, shuffle=True)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.epochs = epochs

    def train(self):
        self.model.train()
        for epoch in range(self.epochs):
            for imgs, medium, large in self.loader:
                p = self.model(imgs)
                loss = yolo_loss(p, [medium, large])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    Trainer().train()
