import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Circles(Dataset):
    def __init__(self, n, size=48):
        self.n, self.size = n, size
        ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.ys, self.xs = ys, xs

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        cy, cx = torch.randint(10, self.size - 10, (2,), generator=g)
        mask = ((self.ys - cy) ** 2 + (self.xs - cx) ** 2 < 64).long()
        image = mask.float().unsqueeze(0) + 0.3 * torch.randn(1, self.size, self.size, generator=g)
        return image, mask


class SmallSegNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Conv2d(32, classes, 1)

    def forward(self, x):
        logits = self.head(self.enc(x))
        return F.interpolate(logits, size=x.shape[1:], mode="bilinear", align_corners=False)


loader = DataLoader(Circles(96), batch_size=16, shuffle=True)
model = SmallSegNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    for image, mask in loader:
        loss = F.cross_entropy(model(image), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        pred = model(image).argmax(1)
    print(epoch, f"pixel accuracy {(pred == mask).float().mean():.3f}")
