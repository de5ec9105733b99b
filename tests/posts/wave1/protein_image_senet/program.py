import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class ProteinCrops(Dataset):
    """4-channel fluorescence images (RGBY), multi-label targets."""

    def __init__(self, n, size=64, n_labels=28, train=True):
        rng = np.random.RandomState(1 if train else 2)
        self.img = rng.randint(0, 255, (n, 4, size, size)).astype(np.uint8)
        self.lab = (rng.rand(n, n_labels) > 0.9).astype(np.float32)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return torch.from_numpy(self.img[i]).float().div(255), torch.from_numpy(self.lab[i])


class SEBlock(nn.Module):
    def __init__(self, c_in, c_out, reduction=4):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, stride=2, padding=1)
        self.fc1 = nn.Conv2d(c_out, c_out // reduction, 1)
        self.fc2 = nn.Conv2d(c_out // reduction, c_out, 1)

    def forward(self, x):
        x = F.relu(self.conv(x))
        s = torch.sigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))))
        return x * s


def create_head(n_in, n_out, ps=0.5):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.BatchNorm1d(n_in), nn.Dropout(ps / 2), nn.Linear(n_in, 512), nn.ReLU(),
                         nn.BatchNorm1d(512), nn.Dropout(ps), nn.Linear(512, n_out))


def create_cnn(n_labels=28):
    body = nn.Sequential(SEBlock(4, 16), SEBlock(16, 32), SEBlock(32, 64))
    return nn.Sequential(body, create_head(64, n_labels))


bs = 16
train_dl = DataLoader(ProteinCrops(65), batch_size=bs, shuffle=True)
valid_dl = DataLoader(ProteinCrops(20, train=False), batch_size=bs)

learn = create_cnn()
opt = torch.optim.Adam(learn.parameters(), lr=1e-3)
for epoch in range(2):
    learn.train()
    for xb, yb in train_dl:
        loss = F.binary_cross_entropy_with_logits(learn(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    learn.eval()
    with torch.no_grad():
        val = [((learn(xb) > 0) == (yb > 0.5)).float().mean().item() for xb, yb in valid_dl]
    print(f'{epoch}  train_loss {loss.item():.4f}  acc {np.mean(val):.4f}')
