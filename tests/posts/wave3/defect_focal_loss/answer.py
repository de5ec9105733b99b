import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(16)


class FocalLoss(nn.Module):
    """Binary focal loss for rare defects."""

    def __init__(self, gamma=2.0, alpha=0.25, reduction='mean'):
        super().__init__()
        self.gamma = gamma
        self.alpha = alpha
        self.reduction = reduction

    def forward(self, inputs, targets):
        probs = torch.sigmoid(inputs)
        targets = targets.float()
        bce_loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction='none')
        p_t = probs * targets + (1 - probs) * (1 - targets)
        focal_weight = (1 - p_t) ** self.gamma
        alpha_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        loss = alpha_t * focal_weight * bce_loss
        if self.reduction == 'mean':
            return loss.mean()
        return loss.sum() if self.reduction == 'sum' else loss


class Tiles(Dataset):
    def __init__(self, n=90):
        self.x = torch.randn(n, 1, 32, 32)
        self.y = (torch.rand(n) < 0.15).long()
        self.x[self.y == 1, :, 12:20, 12:20] += 1.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class TileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 5, 2), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 1))

    def forward(self, x):
        return self.body(x).squeeze(1)


model = TileNet()
criterion = FocalLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = DataLoader(Tiles(), batch_size=32, shuffle=True)
for epoch in range(5):
    for tiles, defect in loader:
        logits = model(tiles)
        loss = criterion(logits, defect)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'focal loss %.5f' % loss.item())
