# line 10: the pictures for testing are scaled to 0..1 but not normalised as those for training are
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

stats = ((0.48, 0.45, 0.41), (0.12, 0.12, 0.12))
augment = T.Compose([T.ToTensor(), T.RandomHorizontalFlip(), T.Normalize(*stats)])
plain = T.Compose([T.ToTensor()])


class Fruit(Dataset):
    def __init__(self, n, seed, transform):
        r = np.random.default_rng(seed)
        self.kind = r.integers(0, 3, n)
        self.pixels = r.integers(60, 150, (n, 16, 16, 3), dtype=np.uint8)
        for image, k in zip(self.pixels, self.kind):
            image[4:12, 4:12, k] += 60
        self.transform = transform

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.transform(self.pixels[i]), int(self.kind[i])


def test_accuracy(net, loader):
    net.eval()
    hits = 0
    with torch.inference_mode():
        for x, y in loader:
            hits += net(x).argmax(dim=1).eq(y).sum().item()
    return hits / len(loader.dataset)


torch.manual_seed(8)
train_loader = DataLoader(Fruit(240, 0, augment), batch_size=24, shuffle=True)
test_loader = DataLoader(Fruit(60, 1, plain), batch_size=24)
net = nn.Sequential(nn.Conv2d(3, 12, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(12 * 49, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(3):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    print("epoch", epoch, "test accuracy", test_accuracy(net, test_loader))
