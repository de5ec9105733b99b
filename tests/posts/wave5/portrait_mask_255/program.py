import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class PortraitDataset(Dataset):
    """RGB picture and a black and white mask of the person"""

    def __init__(self, n=24, size=32, seed=0):
        rng = np.random.RandomState(seed)
        self.images, self.masks = [], []
        yy, xx = np.mgrid[:size, :size]
        for _ in range(n):
            cy, cx = rng.randint(10, 22, 2)
            person = (yy - cy) ** 2 + (xx - cx) ** 2 < 60
            image = rng.rand(size, size, 3) * 0.3
            image[person] += 0.6
            self.images.append(image.astype(np.float32))
            self.masks.append((person * 255).astype(np.uint8))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = torch.from_numpy(self.images[idx].transpose(2, 0, 1).copy())
        label = torch.from_numpy(self.masks[idx]).long()
        return image, label


class TinyPortrait(nn.Module):
    def __init__(self, classes=2):
        super(TinyPortrait, self).__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 12, 3, stride=2, padding=1), nn.BatchNorm2d(12), nn.PReLU(12))
        self.mid = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.PReLU(12))
        self.classifier = nn.Conv2d(12, classes, 1)
        self.up = nn.UpsamplingBilinear2d(scale_factor=2)

    def forward(self, x):
        return self.up(self.classifier(self.mid(self.down(x))))


data_config = {"classes": 2, "ignore_idx": 255, "batch_size": 8}
torch.manual_seed(0)
train_loader = DataLoader(PortraitDataset(), batch_size=data_config["batch_size"], shuffle=True)
model = TinyPortrait(data_config["classes"])
criteria = nn.CrossEntropyLoss(ignore_index=data_config["ignore_idx"])
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(15):
    model.train()
    losses = []
    for images, labels in train_loader:
        output = model(images)
        loss = criteria(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch %d loss %.4f" % (epoch, np.mean(losses)))

model.eval()
with torch.no_grad():
    share = (model(images).argmax(1) == 1).float().mean().item()
print("share of person pixels predicted: %.3f" % share)
