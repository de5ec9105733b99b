import os
import tempfile

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models import mobilenet_v3_small

# ---- made-up faces folder with a csv, like UTKFace: age, gender, ethnicity
folder = tempfile.TemporaryDirectory()
rs = np.random.RandomState(4)
rows = []
for i in range(80):
    age, gender, eth = rs.randint(1, 90), rs.randint(0, 2), rs.randint(0, 5)
    arr = rs.randint(0, 40, (72, 72, 3))
    arr[:36] += age
    arr[36:, :, gender] += 100
    arr[:, 36:, 2] += eth * 25
    name = f"{i:04d}.jpg"
    Image.fromarray(arr.clip(0, 255).astype("uint8")).save(os.path.join(folder.name, name), quality=95)
    rows.append((name, age, gender, eth))
csv_path = os.path.join(folder.name, "faces.csv")
pd.DataFrame(rows, columns=["file", "age", "gender", "ethnicity"]).to_csv(csv_path, index=False)


class FaceDataset(Dataset):
    def __init__(self, csv_path, root, tfm):
        self.df, self.root, self.tfm = pd.read_csv(csv_path), root, tfm

    def __len__(self):
        return len(self.df)

    def __getitem__(self, i):
        row = self.df.iloc[i]
        img = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        return self.tfm(img), {
            "age": torch.tensor(row["age"] / 100.0, dtype=torch.float32),
            "gender": torch.tensor(float(row["gender"])),
            "ethnicity": torch.tensor(int(row["ethnicity"])),
        }


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        base = mobilenet_v3_small(weights=None)
        self.backbone = nn.Sequential(base.features, base.avgpool, nn.Flatten())
        self.neck = nn.Sequential(nn.Linear(576, 128), nn.Hardswish(), nn.Dropout(0.2))
        self.age = nn.Linear(128, 1)
        self.gender = nn.Linear(128, 1)
        self.ethnicity = nn.Linear(128, 5)

    def forward(self, x):
        z = self.neck(self.backbone(x))
        return {"age": self.age(z).squeeze(1), "gender": self.gender(z).squeeze(1), "ethnicity": self.ethnicity(z)}


tfm = transforms.Compose([
    transforms.Resize((64, 64)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])

torch.manual_seed(0)
loader = DataLoader(FaceDataset(csv_path, folder.name, tfm), batch_size=16, shuffle=True)
net = MultiTaskNet()
losses = {"age": nn.L1Loss(), "gender": nn.BCEWithLogitsLoss(), "ethnicity": nn.CrossEntropyLoss()}
weights = {"age": 2.0, "gender": 1.0, "ethnicity": 1.0}
optimizer = optim.AdamW(net.parameters(), lr=1e-3)

net.train()
for epoch in range(3):
    meter = {k: 0.0 for k in losses}
    for images, targets in loader:
        outputs = net(images)
        optimizer.zero_grad()
        for task, fn in losses.items():
            task_loss = weights[task] * fn(outputs[task], targets[task])
            task_loss.backward()
            meter[task] += task_loss.item() / len(loader)
        optimizer.step()
    print(f"epoch {epoch}: " + ", ".join(f"{k} {v:.3f}" for k, v in meter.items()))
folder.cleanup()
