import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils import data


class VOCLikeSegmentation(data.Dataset):
    """own photos in the Pascal format: 3 classes, the rest is background"""

    def __init__(self, size=40, crop=65, seed=0):
        rng = np.random.RandomState(seed)
        self.images = rng.rand(size, 3, crop, crop).astype(np.float32)
        self.masks = np.full((size, crop, crop), 225, dtype=np.uint8)
        for mask in self.masks:
            for cls in range(3):
                y, x = rng.randint(0, crop - 24, 2)
                mask[y:y + 24, x:x + 24] = cls

    def __getitem__(self, index):
        return torch.from_numpy(self.images[index]), torch.from_numpy(self.masks[index])

    def __len__(self):
        return len(self.images)


class ASPP(nn.Module):
    def __init__(self, in_channels, out_channels, rates=(2, 4)):
        super(ASPP, self).__init__()
        self.convs = nn.ModuleList([nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True))])
        for rate in rates:
            self.convs.append(nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 3, padding=rate, dilation=rate, bias=False),
                nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True)))
        self.project = nn.Conv2d(out_channels * len(self.convs), out_channels, 1)

    def forward(self, x):
        return self.project(torch.cat([conv(x) for conv in self.convs], dim=1))


class DeepLab(nn.Module):
    def __init__(self, num_classes):
        super(DeepLab, self).__init__()
        self.low = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.high = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.aspp = ASPP(32, 32)
        self.classifier = nn.Sequential(
            nn.Conv2d(48, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.Conv2d(32, num_classes, 1))

    def forward(self, x):
        low = self.low(x)
        out = F.interpolate(self.aspp(self.high(low)), size=low.shape[2:], mode='bilinear', align_corners=False)
        out = self.classifier(torch.cat([low, out], dim=1))
        return F.interpolate(out, size=x.shape[2:], mode='bilinear', align_corners=False)


def main():
    torch.manual_seed(1)
    num_classes = 3
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train_loader = data.DataLoader(VOCLikeSegmentation(), batch_size=8, shuffle=True, drop_last=True)
    model = DeepLab(num_classes).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss(ignore_index=225, reduction='mean')

    cur_itrs = 0
    for epoch in range(2):
        model.train()
        for images, labels in train_loader:
            cur_itrs += 1
            images = images.to(device, dtype=torch.float32)
            labels = labels.to(device, dtype=torch.long)
            optimizer.zero_grad()
            outputs = model(images)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            print("Epoch %d, Itrs %d, Loss=%f" % (epoch, cur_itrs, loss.item()))


if __name__ == '__main__':
    main()
