import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(18)
N_CLASS = 8


class LandCover(Dataset):
    """Satellite tiles; the masks hold urban, agriculture, range, forest, water, barren, unknown and cloud."""

    def __init__(self, n=14, size=64):
        g = torch.Generator().manual_seed(3)
        self.image = torch.rand(n, 3, size, size, generator=g)
        coarse = torch.randint(0, 8, (n, 1, 8, 8), generator=g).float()
        self.label = F.interpolate(coarse, size=(size, size)).squeeze(1).long()

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return {'image': self.image[i], 'label': self.label[i]}


def one_hot(label, channels):
    b, h, w = label.shape
    planes = torch.zeros(b, channels, h, w, device=label.device)
    planes.scatter_(1, label.unsqueeze(1), 1.0)
    return planes


class FocalLoss(nn.Module):
    def __init__(self, gamma=2, eps=1e-7):
        super().__init__()
        self.gamma = gamma
        self.eps = eps

    def forward(self, input, target):
        target = one_hot(target, input.size(1))
        probs = F.softmax(input, dim=1)
        probs = (probs * target).sum(1).clamp(self.eps, 1.0 - self.eps)
        loss = -(1 - probs) ** self.gamma * probs.log()
        return loss.mean()


class GlobalBranch(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 48, 3, 2, 1), nn.ReLU())
        self.top = nn.Conv2d(48, n_class, 1)

    def forward(self, x):
        return F.interpolate(self.top(self.enc(x)), size=x.shape[2:], mode='bilinear', align_corners=False)


model = GlobalBranch(N_CLASS)
criterion = FocalLoss(gamma=3)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-5, weight_decay=5e-4)
for epoch in range(2):
    for sample_batched in DataLoader(LandCover(), batch_size=6, shuffle=True):
        outputs_global = model(sample_batched['image'])
        loss = criterion(outputs_global, sample_batched['label'])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'loss', loss.item())
