# LEGO brick sorter - which part is lying on the conveyor belt?
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

torch.manual_seed(42)
PARTS = ["plate_2x4", "brick_2x2", "axle", "gear", "minifig_head"]
COUNTS = [220, 140, 60, 40, 30]


class BrickDataset(Dataset):
    def __init__(self, transform=None):
        self.transform = transform
        self.targets = torch.cat([torch.full((n,), c) for c, n in enumerate(COUNTS)])
        self.images = torch.rand(len(self.targets), 1, 40, 40) * 0.4
        for i, c in enumerate(self.targets.tolist()):
            self.images[i, 0, 6 * c + 3:6 * c + 9, 5:35] += 0.4

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        img = self.images[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.targets[i]


def class_weights(dataset, n_classes):
    counts = torch.bincount(dataset.targets, minlength=n_classes).float()
    return counts.sum() / (n_classes * counts)


full = BrickDataset(transform=lambda im: (im - 0.25) / 0.2)
n_val = len(full) // 5
train_ds, val_ds = random_split(full, [len(full) - n_val, n_val])
train_loader = DataLoader(train_ds, batch_size=32, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=64)

model = nn.Sequential(
    nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.3),
    nn.Linear(32 * 8 * 8, len(PARTS)),
)
weights = class_weights(train_ds, len(PARTS))
print("class weights:", [round(w, 2) for w in weights.tolist()])
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(4):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()

    model.eval()
    hits, seen = torch.zeros(len(PARTS)), torch.zeros(len(PARTS))
    with torch.no_grad():
        for images, labels in val_loader:
            pred = model(images).argmax(1)
            seen += torch.bincount(labels, minlength=len(PARTS))
            hits += torch.bincount(labels[pred == labels], minlength=len(PARTS))
    recall = hits / seen.clamp(min=1)
    print(f"epoch {epoch}: mean recall {recall.mean().item():.3f}")
