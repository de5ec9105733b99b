import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(60)
CLASSES, IGNORE = 19, 255


class Streets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.img = torch.rand(n, 3, 97, 97, generator=g)
        self.lab = torch.randint(0, CLASSES, (n, 97, 97), generator=g)
        self.lab[:, :4] = IGNORE

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.lab[i]


class PPM(nn.Module):
    def __init__(self, ch, bins=(1, 2, 3)):
        super().__init__()
        self.stages = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(b), nn.Conv2d(ch, 16, 1), nn.ReLU()) for b in bins)

    def forward(self, x):
        up = [F.interpolate(s(x), x.shape[2:], mode='bilinear', align_corners=True) for s in self.stages]
        return torch.cat([x] + up, dim=1)


class PSPSmall(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU())
        self.ppm = PPM(48)
        self.cls = nn.Conv2d(48 + 3 * 16, CLASSES, 3, padding=1)

    def forward(self, x):
        return F.interpolate(self.cls(self.ppm(self.trunk(x))), x.shape[2:], mode='bilinear', align_corners=True)


def train(loader, model, criterion, optimizer):
    model.train()
    for input, target in loader:
        loss = criterion(model(input), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('train loss %.4f' % loss.item())


def validate(loader, model, criterion):
    model.eval()
    hit = seen = total = 0
    for i, (input, target) in enumerate(loader):
        output = model(input)
        loss = criterion(output, target)
        output = output.max(1)[1]
        valid = target != IGNORE
        hit += (output[valid] == target[valid]).sum().item()
        seen += valid.sum().item()
        total += loss.item() * input.size(0)
    print('val loss %.4f pixel accuracy %.4f' % (total / len(loader.dataset), hit / seen))


model = PSPSmall()
criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
train_loader = DataLoader(Streets(12, 1), batch_size=4, shuffle=True)
val_loader = DataLoader(Streets(10, 2), batch_size=4)
for epoch in range(2):
    train(train_loader, model, criterion, optimizer)
    validate(val_loader, model, criterion)
