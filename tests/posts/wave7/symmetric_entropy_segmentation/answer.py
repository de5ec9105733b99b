import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = 'cuda' if torch.cuda.is_available() else 'cpu'


class SCELoss(torch.nn.Module):
    def __init__(self, alpha, beta, num_classes=10):
        super(SCELoss, self).__init__()
        self.device = device
        self.alpha = alpha
        self.beta = beta
        self.num_classes = num_classes
        self.cross_entropy = torch.nn.CrossEntropyLoss()

    def forward(self, pred, labels):
        # CCE
        ce = self.cross_entropy(pred, labels)

        # RCE
        pred = F.softmax(pred, dim=1)
        pred = torch.clamp(pred, min=1e-7, max=1.0)
        label_one_hot = F.one_hot(labels, self.num_classes).permute(0, 3, 1, 2).float().to(self.device)
        label_one_hot = torch.clamp(label_one_hot, min=1e-4, max=1.0)
        rce = (-1 * torch.sum(pred * torch.log(label_one_hot), dim=1))

        return self.alpha * ce + self.beta * rce.mean()


class NoisyTiles(Dataset):
    def __init__(self, n=48, num_classes=6):
        self.images = torch.rand(n, 3, 64, 64)
        masks = (self.images.mean(dim=1) * 0.999 * num_classes).long()
        noise = torch.rand(masks.shape) < 0.2
        masks[noise] = torch.randint(0, num_classes, (int(noise.sum()),))
        self.masks = masks

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return self.images[idx], self.masks[idx]


class UNetSmall(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.down1 = self.block(3, 16)
        self.down2 = self.block(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.dec = self.block(32, 16)
        self.out = nn.Conv2d(16, n_classes, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        x1 = self.down1(x)
        x2 = self.down2(F.max_pool2d(x1, 2))
        return self.out(self.dec(torch.cat([x1, self.up(x2)], dim=1)))


torch.manual_seed(0)
loader = DataLoader(NoisyTiles(), batch_size=8, shuffle=True)
model = UNetSmall(6).to(device)
criterion = SCELoss(alpha=0.1, beta=1.0, num_classes=6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

for epoch in range(2):
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    print('epoch %d loss %.4f' % (epoch, loss.item()))
