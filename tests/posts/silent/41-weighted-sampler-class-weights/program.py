import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
NUM_CLASSES = 3

# imbalanced defect images
counts = [300, 60, 20]
labels = torch.cat([torch.full((c,), k) for k, c in enumerate(counts)])
labels = labels[torch.randperm(len(labels))]
images = 0.5 * torch.randn(len(labels), 1, 16, 16)
for k in range(NUM_CLASSES):
    images[labels == k, :, 5 * k:5 * k + 4] += 1.0

n_train = 300
train_ds = TensorDataset(images[:n_train], labels[:n_train])
test_ds = TensorDataset(images[n_train:], labels[n_train:])

class_counts = torch.bincount(labels[:n_train], minlength=NUM_CLASSES)
class_weights = 1.0 / class_counts.float()
sampler = WeightedRandomSampler(class_weights, num_samples=len(train_ds), replacement=True)
train_loader = DataLoader(train_ds, batch_size=30, sampler=sampler)
test_loader = DataLoader(test_ds, batch_size=40)


class DefectNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(16 * 16, NUM_CLASSES)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


net = DefectNet()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    per_class = torch.zeros(NUM_CLASSES)
    with torch.no_grad():
        for x, y in test_loader:
            pred = net(x).argmax(1)
            for k in range(NUM_CLASSES):
                per_class[k] += ((pred == k) & (y == k)).sum()
    recall = per_class / torch.bincount(labels[n_train:], minlength=NUM_CLASSES)
    print(f"epoch {epoch} loss {loss.item():.3f} recall {[round(r, 2) for r in recall.tolist()]}")
