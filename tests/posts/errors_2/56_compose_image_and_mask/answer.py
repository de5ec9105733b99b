import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

torch.manual_seed(0)


class Lesions(Dataset):
    def __init__(self, n, image_tf, mask_tf):
        self.n = n
        self.image_tf = image_tf
        self.mask_tf = mask_tf

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        mask = np.zeros((40, 40), dtype=np.uint8)
        r, c = rng.integers(5, 25, size=2)
        mask[r : r + 10, c : c + 10] = 255
        image = (mask * 0.6 + rng.integers(0, 90, size=mask.shape)).astype(np.uint8)
        image, mask = Image.fromarray(image), Image.fromarray(mask)
        image, mask = self.image_tf(image), self.mask_tf(mask)
        return image, (mask > 0.5).float()


base = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
loader = DataLoader(Lesions(96, base, base), batch_size=16, shuffle=True)

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)


def dice(logits, mask):
    pred = (logits > 0).float()
    return (2 * (pred * mask).sum() / (pred.sum() + mask.sum() + 1e-6)).item()


for epoch in range(6):
    scores = []
    for image, mask in loader:
        logits = net(image)
        loss = F.binary_cross_entropy_with_logits(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(dice(logits.detach(), mask))
    print(f"epoch {epoch} loss {loss.item():.3f} dice {np.mean(scores):.3f}")
