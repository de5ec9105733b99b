import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter


class ConvLBP(nn.Conv2d):
    """convolution with fixed sparse weights of -1, 0 and 1 (local binary patterns)"""

    def __init__(self, in_channels, out_channels, kernel_size=3, sparsity=0.5):
        super().__init__(in_channels, out_channels, kernel_size, padding=kernel_size // 2, bias=False)
        anchor = self.weight.data.new_zeros(self.weight.shape)
        anchor.bernoulli_(sparsity)
        signs = torch.randint_like(anchor, 0, 2) * 2 - 1
        self.weight = Parameter(anchor * signs)
        self.weight.requires_grad_(False)


class BlockLBP(nn.Module):
    def __init__(self, channels, num_weights, sparsity=0.5):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        self.conv_lbp = ConvLBP(channels, num_weights, sparsity=sparsity)
        self.conv_1x1 = nn.Conv2d(num_weights, channels, 1)

    def forward(self, x):
        return x + self.conv_1x1(F.relu(self.conv_lbp(self.bn(x))))


class LBCNN(nn.Module):
    def __init__(self, n_classes, channels=8, num_weights=16, depth=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
        self.chain = nn.Sequential(*[BlockLBP(channels, num_weights) for _ in range(depth)])
        self.pool = nn.AvgPool2d(4)
        self.fc = nn.Linear(channels * 16, n_classes)

    def forward(self, x):
        x = self.pool(self.chain(self.stem(x)))
        return self.fc(x.flatten(1))


def textures(n, size=16):
    gen = torch.Generator().manual_seed(6)
    y = torch.randint(0, 3, (n,), generator=gen)
    i, j = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    patterns = torch.stack([(i % 4 < 2), (j % 4 < 2), ((i + j) % 4 < 2)]).float()
    return patterns[y].unsqueeze(1) + 0.8 * torch.randn(n, 1, size, size, generator=gen), y


def main():
    torch.manual_seed(0)
    x, y = textures(480)
    model = LBCNN(n_classes=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(4):
        right = 0
        for idx in torch.randperm(len(x)).split(48):
            out = model(x[idx])
            loss = F.cross_entropy(out, y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (out.argmax(dim=1) == y[idx]).sum().item()
        print("epoch %d train accuracy %.3f" % (epoch, right / len(x)))

    learned = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print("learned weights:", learned)
    print("values in the first anchor:", model.chain[0].conv_lbp.weight.detach().unique().numel())


if __name__ == "__main__":
    main()
