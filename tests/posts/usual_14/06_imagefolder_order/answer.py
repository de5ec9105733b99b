"""
Plant stage competition: 12 growth stages, folders train/1 ... train/12.
Trains a small CNN and writes submission.csv with columns file,stage.
"""
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

torch.manual_seed(0)
rng = np.random.default_rng(0)
root = Path(tempfile.mkdtemp(prefix="plants_"))


def leaf_picture(stage):
    img = rng.normal(40, 8, (24, 24, 3))
    img[22 - stage - stage // 2:23, 10:14, 1] += 90
    img[21 - stage:23, 11:13, 0] += 6 * stage
    return Image.fromarray(img.clip(0, 255).astype(np.uint8))


for stage in range(1, 13):
    folder = root / "train" / str(stage)
    folder.mkdir(parents=True)
    for k in range(40):
        leaf_picture(stage).save(folder / f"{k:03d}.png")

(root / "test").mkdir()
solution = {}
for k in range(120):
    name = f"img_{k:04d}.png"
    solution[name] = int(rng.integers(1, 13))
    leaf_picture(solution[name]).save(root / "test" / name)

tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.2] * 3, [0.15] * 3)])
train_set = datasets.ImageFolder(root / "train", transform=tf)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(32 * 6 * 6, 12),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    model.train()
    right = 0
    for images, labels in train_loader:
        optimizer.zero_grad()
        out = model(images)
        loss = criterion(out, labels)
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == labels).sum().item()
    print(f"epoch {epoch + 1}: train acc {right / len(train_set):.3f}")


@torch.no_grad()
def predict_folder(folder):
    model.eval()
    rows = []
    for path in sorted(folder.glob("*.png")):
        x = tf(Image.open(path).convert("RGB")).unsqueeze(0)
        idx = model(x).argmax(1).item()
        rows.append({"file": path.name, "stage": int(train_set.classes[idx])})
    return pd.DataFrame(rows)


submission = predict_folder(root / "test")
submission.to_csv(root / "submission.csv", index=False)

truth = submission["file"].map(solution)
print("leaderboard accuracy:", round(float((submission["stage"] == truth).mean()), 3))
