import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms


class XrayDataset(Dataset):
    """Grey-level x-ray patches kept in memory as one uint8 array."""

    def __init__(self, n=24, train=True):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 255, size=(n, 80, 72), dtype=np.uint8)
        self.labels = rng.integers(0, 2, size=n)
        steps = [transforms.Resize((64, 64))]
        if train:
            steps.append(transforms.RandomHorizontalFlip())
        steps += [transforms.ToTensor(), transforms.Normalize([0.5], [0.25])]
        self.tf = transforms.Compose(steps)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = Image.fromarray(self.images[i])
        return self.tf(img), int(self.labels[i])


loader = DataLoader(XrayDataset(), batch_size=8, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 5, stride=4), torch.nn.ReLU(),
    torch.nn.Flatten(), torch.nn.LazyLinear(2),
)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    print(x.shape, loss.item())
