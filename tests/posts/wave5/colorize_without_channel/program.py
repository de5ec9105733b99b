import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class LabImages(Dataset):
    """lightness as input, the two colour channels as target"""

    def __init__(self, n=256, size=32):
        rng = np.random.RandomState(1)
        self.lab = rng.rand(n, size, size, 3).astype(np.float32)

    def __len__(self):
        return len(self.lab)

    def __getitem__(self, index):
        lab = self.lab[index]
        l_image = torch.from_numpy(lab[:, :, 0])
        ab_image = torch.from_numpy(lab[:, :, 1:].transpose(2, 0, 1).copy())
        return l_image, ab_image


class ColorNet(nn.Module):
    def __init__(self):
        super(ColorNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.up = nn.Upsample(scale_factor=2)
        self.out = nn.Conv2d(32, 2, kernel_size=3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return torch.sigmoid(self.out(self.up(x)))


train_loader = DataLoader(LabImages(), batch_size=128, shuffle=True)
model = ColorNet()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    running = 0.0
    for i, (l_images, ab_images) in enumerate(train_loader):
        optimizer.zero_grad()
        output = model(l_images)
        loss = criterion(output, ab_images)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print("epoch %d loss %.4f" % (epoch + 1, running / len(train_loader)))
