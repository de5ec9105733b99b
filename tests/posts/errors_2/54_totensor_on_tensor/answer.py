import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

torch.manual_seed(0)


class StoredPatches(Dataset):
    """uint8 patches kept in one tensor, N x C x H x W."""

    def __init__(self, patches, labels, transform=None):
        self.patches = patches
        self.labels = labels
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        patch = self.patches[i]
        if self.transform is not None:
            patch = self.transform(patch)
        return patch, self.labels[i]


train_tf = transforms.Compose(
    [
        transforms.RandomHorizontalFlip(),
        transforms.RandomCrop(28, padding=2),
        transforms.ConvertImageDtype(torch.float32),
        transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
    ]
)

labels = torch.randint(0, 3, (180,))
patches = torch.randint(0, 90, (180, 3, 28, 28), dtype=torch.uint8)
for c in range(3):
    patches[labels == c, c] += 120

loader = DataLoader(StoredPatches(patches, labels, train_tf), batch_size=30, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 12, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 3)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    hits = 0
    for x, y in loader:
        out = model(x)
        optimizer.zero_grad()
        criterion(out, y).backward()
        optimizer.step()
        hits += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch} acc {hits / len(labels):.3f}")
