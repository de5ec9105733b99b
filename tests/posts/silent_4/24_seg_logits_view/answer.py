import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 3


class Blobs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.masks = torch.zeros(n, 24, 24, dtype=torch.long)
        for m in self.masks:
            for cls in (1, 2):
                r, c = torch.randint(0, 14, (2,), generator=g).tolist()
                m[r:r + 10, c:c + 10] = cls
        self.images = self.masks.unsqueeze(1).float() + 0.3 * torch.randn(n, 1, 24, 24, generator=g)

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


train_loader = DataLoader(Blobs(200, 0), batch_size=20, shuffle=True)
test_loader = DataLoader(Blobs(40, 1), batch_size=20)

torch.manual_seed(24)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, NUM_CLASSES, 1),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(8):
    net.train()
    for img, mask in train_loader:
        logits = net(img)
        loss = criterion(logits.permute(0, 2, 3, 1).reshape(-1, NUM_CLASSES), mask.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    net.eval()
    right = count = 0
    with torch.no_grad():
        for img, mask in test_loader:
            pred = net(img).argmax(dim=1)
            right += (pred == mask).sum().item()
            count += mask.numel()
    print(f"epoch {epoch} loss {loss.item():.4f} pixel accuracy {right / count:.3f}")
