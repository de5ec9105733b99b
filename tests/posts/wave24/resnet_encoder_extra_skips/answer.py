import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet18

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class DenseSkipEncoder(nn.Module):
    """ResNet encoder with an additional shortcut around every stage."""

    def __init__(self):
        super().__init__()
        backbone = resnet18(weights=None)
        self.layer0 = nn.Sequential(backbone.conv1, backbone.bn1, backbone.relu, backbone.maxpool)
        self.layer1 = backbone.layer1
        self.layer2 = backbone.layer2
        self.layer3 = backbone.layer3
        self.layer4 = backbone.layer4
        self.skip2 = nn.Conv2d(64, 128, kernel_size=1, stride=2)
        self.skip3 = nn.Conv2d(128, 256, kernel_size=1, stride=2)
        self.skip4 = nn.Conv2d(256, 512, kernel_size=1, stride=2)

    def forward(self, x):
        x = self.layer0(x)
        x1 = self.layer1(x)
        x1 = x1 + x
        x2 = self.layer2(x1)
        x2 = x2 + self.skip2(x1)
        x3 = self.layer3(x2)
        x3 = x3 + self.skip3(x2)
        x4 = self.layer4(x3)
        x4 = x4 + self.skip4(x3)
        return x1, x2, x3, x4


class Decoder(nn.Module):
    def __init__(self, channels=(512, 256, 128, 64), width=32, classes=3):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(c, width, 1) for c in channels])
        self.smooth = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, features):
        out = None
        for conv, feature in zip(self.lateral, reversed(features)):
            y = conv(feature)
            if out is not None:
                y = y + F.interpolate(out, size=y.shape[2:], mode="nearest")
            out = y
        return self.head(F.relu(self.smooth(out)))


class SegmentationModel(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = DenseSkipEncoder()
        self.decoder = Decoder(classes=classes)

    def forward(self, x):
        logits = self.decoder(self.encoder(x))
        return F.interpolate(logits, size=x.shape[2:], mode="bilinear", align_corners=False)


def make_batch(batch_size, size=64):
    coarse = torch.randint(0, 3, (batch_size, size // 16, size // 16))
    mask = coarse.repeat_interleave(16, dim=1).repeat_interleave(16, dim=2)
    image = F.one_hot(mask, 3).permute(0, 3, 1, 2).float() + 0.2 * torch.randn(batch_size, 3, size, size)
    return image.to(device), mask.to(device)


def main():
    torch.manual_seed(0)
    model = SegmentationModel(classes=3).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    model.train()
    for step in range(10):
        image, mask = make_batch(4)
        loss = criterion(model(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
