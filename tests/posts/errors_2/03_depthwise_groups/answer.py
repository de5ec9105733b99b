import torch
import torch.nn as nn
import torch.nn.functional as F


class DepthwiseSeparable(nn.Module):
    """MobileNet style block: depthwise 3x3 followed by pointwise 1x1."""

    def __init__(self, in_ch, out_ch, stride=1):
        super().__init__()
        self.depthwise = nn.Conv2d(
            in_ch, in_ch, 3, stride=stride, padding=1, groups=in_ch, bias=False
        )
        self.bn1 = nn.BatchNorm2d(in_ch)
        self.pointwise = nn.Conv2d(in_ch, out_ch, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_ch)

    def forward(self, x):
        x = F.relu6(self.bn1(self.depthwise(x)))
        return F.relu6(self.bn2(self.pointwise(x)))


class TinyMobileNet(nn.Module):
    def __init__(self, num_classes=5, widths=(16, 24, 40)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 3, stride=2, padding=1)
        blocks = []
        for cin, cout in zip(widths[:-1], widths[1:]):
            blocks.append(DepthwiseSeparable(cin, cout, stride=2))
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(widths[-1], num_classes)

    def forward(self, x):
        x = self.blocks(F.relu6(self.stem(x)))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x)


def main():
    torch.manual_seed(1)
    images = torch.rand(128, 3, 32, 32)
    labels = torch.randint(0, 5, (128,))
    model = TinyMobileNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    for step in range(10):
        idx = torch.randint(0, 128, (32,))
        loss = F.cross_entropy(model(images[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
