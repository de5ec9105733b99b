import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler, random_split


class SkinLesions(Dataset):
    """Unbalanced: about 85% benign, 12% atypical, 3% melanoma."""

    def __init__(self, n=500):
        rng = np.random.default_rng(11)
        self.labels = rng.choice(3, size=n, p=[0.85, 0.12, 0.03])
        self.images = rng.random((n, 3, 24, 24), dtype=np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), int(self.labels[i])


class SmallCNN(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.fc(self.body(x))


torch.manual_seed(0)
dataset = SkinLesions()
train_set, val_set = random_split(dataset, [400, 100])

train_labels = dataset.labels[train_set.indices]
class_count = np.bincount(train_labels)
class_weight = 1.0 / class_count
sample_weight = class_weight[train_labels]
sampler = WeightedRandomSampler(
    torch.from_numpy(sample_weight), num_samples=len(train_set), replacement=True
)

train_loader = DataLoader(train_set, batch_size=40, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=50)

model = SmallCNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    model.train()
    seen = torch.zeros(3, dtype=torch.long)
    for images, labels in train_loader:
        seen += torch.bincount(labels, minlength=3)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()

    model.eval()
    hits = 0
    with torch.no_grad():
        for images, labels in val_loader:
            hits += (model(images).argmax(1) == labels).sum().item()
    print(f"epoch {epoch}: classes seen {seen.tolist()}, val acc {hits / len(val_set):.3f}")
