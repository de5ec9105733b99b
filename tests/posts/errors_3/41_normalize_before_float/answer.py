import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

train_tf = v2.Compose([
    v2.ToImage(),
    v2.RandomHorizontalFlip(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])


class Tomatoes(Dataset):
    def __init__(self, n, transform, seed=0):
        rng = np.random.default_rng(seed)
        self.ripe = rng.integers(0, 2, n)
        self.images = rng.integers(0, 150, (n, 32, 32, 3), dtype=np.uint8)
        for image, ripe in zip(self.images, self.ripe):
            image[..., 0 if ripe else 1] += 90
        self.transform = transform

    def __len__(self):
        return len(self.ripe)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.ripe[i])


torch.manual_seed(0)
loader = DataLoader(Tomatoes(128, train_tf), batch_size=16, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for images, ripe in loader:
        loss = nn.functional.cross_entropy(model(images), ripe)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
