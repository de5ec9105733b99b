import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class DefectDataset(Dataset):
    def __init__(self, n, defect_rate, seed):
        g = torch.Generator().manual_seed(seed)
        self.targets = (torch.rand(n, generator=g) < defect_rate).long()
        self.images = torch.randn(n, 1, 12, 12, generator=g)
        self.images[:, :, 4:8, 4:8] += 0.8 * self.targets.view(-1, 1, 1, 1)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.images[i], self.targets[i]


train_set = DefectDataset(1000, 0.1, seed=0)
test_set = DefectDataset(400, 0.5, seed=1)

class_counts = np.bincount(train_set.targets.numpy())
class_weights = torch.tensor(1.0 / class_counts)
sampler = WeightedRandomSampler(class_weights, num_samples=len(train_set), replacement=True)

train_loader = DataLoader(train_set, batch_size=50, sampler=sampler)
test_loader = DataLoader(test_set, batch_size=100)

torch.manual_seed(39)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(8 * 36, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    loss_sum = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: train loss {loss_sum / 1000:.4f} test acc {correct / 400:.3f}")
