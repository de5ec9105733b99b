import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class UnetConv(nn.Module):
    def __init__(self, in_size, out_size):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(in_size, out_size, 3), nn.ReLU())
        self.conv2 = nn.Sequential(nn.Conv2d(out_size, out_size, 3), nn.ReLU())

    def forward(self, x):
        return self.conv2(self.conv1(x))


class UnetUp(nn.Module):
    def __init__(self, in_size, out_size):
        super().__init__()
        self.up = nn.ConvTranspose2d(in_size, out_size, kernel_size=2, stride=2)
        self.conv = UnetConv(in_size, out_size)

    def forward(self, skip, x):
        x = self.up(x)
        offset = x.size(2) - skip.size(2)
        padding = 2 * [offset // 2, offset - offset // 2]
        skip = F.pad(skip, padding)
        return self.conv(torch.cat([skip, x], 1))


class Unet(nn.Module):
    def __init__(self, n_classes, in_channels=3, filters=(4, 8, 16, 32)):
        super().__init__()
        self.conv1 = UnetConv(in_channels, filters[0])
        self.conv2 = UnetConv(filters[0], filters[1])
        self.conv3 = UnetConv(filters[1], filters[2])
        self.center = UnetConv(filters[2], filters[3])
        self.up3 = UnetUp(filters[3], filters[2])
        self.up2 = UnetUp(filters[2], filters[1])
        self.up1 = UnetUp(filters[1], filters[0])
        self.final = nn.Conv2d(filters[0], n_classes, 1)

    def forward(self, x):
        c1 = self.conv1(x)
        c2 = self.conv2(F.max_pool2d(c1, 2))
        c3 = self.conv3(F.max_pool2d(c2, 2))
        center = self.center(F.max_pool2d(c3, 2))
        u3 = self.up3(c3, center)
        u2 = self.up2(c2, u3)
        u1 = self.up1(c1, u2)
        return self.final(u1)


def cross_entropy2d(scores, target):
    if scores.shape[-2:] != target.shape[-2:]:
        scores = F.interpolate(scores, size=target.shape[-2:], mode="bilinear", align_corners=True)
    return F.cross_entropy(scores, target, ignore_index=250)


def train(img_size=128, n_classes=5, epochs=2):
    torch.manual_seed(0)
    images = torch.randn(6, 3, img_size, img_size)
    labels = torch.randint(0, n_classes, (6, img_size, img_size))
    loader = DataLoader(TensorDataset(images, labels), batch_size=2, shuffle=True)
    model = Unet(n_classes).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    for epoch in range(epochs):
        for image, label in loader:
            image, label = image.to(device), label.to(device)
            loss = cross_entropy2d(model(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    train()
