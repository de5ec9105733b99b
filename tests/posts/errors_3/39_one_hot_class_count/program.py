import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
NUM_CLASSES = 5


def dice_loss(logits, target, num_classes, eps=1.0):
    probs = logits.softmax(dim=1)
    onehot = F.one_hot(target, num_classes).permute(0, 3, 1, 2).float()
    inter = (probs * onehot).sum(dim=(0, 2, 3))
    union = probs.sum(dim=(0, 2, 3)) + onehot.sum(dim=(0, 2, 3))
    return 1 - ((2 * inter + eps) / (union + eps)).mean()


class SegHead(nn.Module):
    def __init__(self, out_channels):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, out_channels, 1),
        )

    def forward(self, x):
        return self.net(x)


def make_scan(n, size=24):
    organs = torch.randint(1, NUM_CLASSES + 1, (n,))
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i, k in enumerate(organs):
        r, c = torch.randint(2, size - 10, (2,)).tolist()
        mask[i, r:r + 8, c:c + 8] = k
    image = mask.unsqueeze(1) / NUM_CLASSES + 0.05 * torch.randn(n, 1, size, size)
    return image, mask


model = SegHead(NUM_CLASSES)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(12):
    image, mask = make_scan(16)
    loss = dice_loss(model(image), mask, NUM_CLASSES)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(f"step {step} dice loss {loss.item():.4f}")
