import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class CellDataset(Dataset):
    def __init__(self, n, augment=None, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.masks = torch.zeros(n, 1, 32, 32)
        for m in self.masks:
            r, c = torch.randint(0, 22, (2,), generator=g).tolist()
            m[:, r:r + 10, c:c + 10] = 1.0
        self.images = 2 * self.masks + 0.4 * torch.randn(n, 1, 32, 32, generator=g)
        self.augment = augment

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, idx):
        image, mask = self.images[idx], self.masks[idx]
        if self.augment is not None:
            both = self.augment(torch.cat([image, mask], dim=0))
            image, mask = both[:1], both[1:]
        return image, mask


flips = transforms.Compose([transforms.RandomHorizontalFlip(0.5), transforms.RandomVerticalFlip(0.5)])

train_loader = DataLoader(CellDataset(300, augment=flips), batch_size=20, shuffle=True)
val_loader = DataLoader(CellDataset(60, seed=1), batch_size=20)

net = nn.Sequential(
    nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
    nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(8):
    net.train()
    for image, mask in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(image), mask)
        loss.backward()
        optimizer.step()

    net.eval()
    inter = union = 0.0
    with torch.no_grad():
        for image, mask in val_loader:
            pred = net(image) > 0
            inter += (pred & (mask > 0.5)).sum().item()
            union += (pred | (mask > 0.5)).sum().item()
    print(f"epoch {epoch}: train loss {loss.item():.4f} val IoU {inter / union:.3f}")
