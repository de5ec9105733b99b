import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RoadSegNet(nn.Module):
    """Small encoder with a 1x1 head for road / kerb / background."""

    def __init__(self, n_classes=3):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.head = nn.Conv2d(32, n_classes, 1)

    def forward(self, x):
        size = x.shape[-2:]
        logits = self.head(self.enc(x))
        return logits


torch.manual_seed(0)
images = torch.rand(16, 3, 64, 64)
masks = torch.randint(0, 3, (16, 64, 64))
loader = DataLoader(TensorDataset(images, masks), batch_size=4, shuffle=True)

model = RoadSegNet()
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(2):
    for img, mask in loader:
        opt.zero_grad()
        loss = criterion(model(img), mask)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
