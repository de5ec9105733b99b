import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torchvision.models import resnet18


class UnetUp(nn.Module):
    def __init__(self, in_size, out_size):
        super().__init__()
        self.conv1 = nn.Conv2d(in_size, out_size, 3, padding=1)
        self.conv2 = nn.Conv2d(out_size, out_size, 3, padding=1)
        self.up = nn.UpsamplingBilinear2d(scale_factor=2)

    def forward(self, skip, deep):
        x = torch.cat([skip, self.up(deep)], 1)
        x = F.relu(self.conv1(x))
        return F.relu(self.conv2(x))


class ResUnet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        net = resnet18(weights=None)
        self.stem = nn.Sequential(net.conv1, net.bn1, net.relu)
        self.pool = net.maxpool
        self.layer1, self.layer2 = net.layer1, net.layer2
        self.layer3, self.layer4 = net.layer3, net.layer4
        self.up4 = UnetUp(512 + 256, 128)
        self.up3 = UnetUp(128 + 128, 64)
        self.up2 = UnetUp(64 + 64, 32)
        self.up1 = UnetUp(32 + 64, 16)
        self.final = nn.Sequential(nn.UpsamplingBilinear2d(scale_factor=2), nn.Conv2d(16, num_classes, 1))

    def forward(self, x):
        f1 = self.stem(x)
        f2 = self.layer1(self.pool(f1))
        f3 = self.layer2(f2)
        f4 = self.layer3(f3)
        f5 = self.layer4(f4)
        y = self.up4(f4, f5)
        y = self.up3(f3, y)
        y = self.up2(f2, y)
        y = self.up1(f1, y)
        return self.final(y)


class RoadDataset(Dataset):
    def __init__(self, length, input_shape, num_classes):
        self.length = length
        self.input_shape = input_shape
        self.num_classes = num_classes

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(i)
        h, w = self.input_shape
        blocks = torch.randint(0, self.num_classes, (1, 1, 5, 5), generator=gen).float()
        label = F.interpolate(blocks, size=(h, w)).long()[0, 0]
        image = label.float().expand(3, h, w) / self.num_classes + 0.1 * torch.randn(3, h, w, generator=gen)
        return image, label


def fit_one_epoch(model, loader, optimizer, device):
    model.train()
    total = 0
    for step, (imgs, labels) in enumerate(loader):
        imgs, labels = imgs.to(device), labels.to(device)
        outputs = model(imgs)
        loss = F.cross_entropy(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / (step + 1)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    num_classes = 4
    input_shape = [160, 192]
    batch_size = 4

    model = ResUnet(num_classes).to(device)
    train_set = RoadDataset(16, input_shape, num_classes)
    loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for epoch in range(2):
        print(f"Epoch {epoch + 1}/2: loss {fit_one_epoch(model, loader, optimizer, device):.4f}")
