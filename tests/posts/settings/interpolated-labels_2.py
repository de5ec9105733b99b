# line 11: adaptive_avg_pool2d averages the organ numbers of the mask before they are the target
import torch
import torch.nn as nn
import torch.nn.functional as F


def downsample_pair(scan, organs, factor):
    """Bring a scan and its annotation to the resolution of the network."""
    h, w = scan.shape[-2] // factor, scan.shape[-1] // factor
    scan = F.adaptive_avg_pool2d(scan, (h, w))
    organs = F.adaptive_avg_pool2d(organs.unsqueeze(1).float(), (h, w)).squeeze(1)
    return scan, organs.round().to(torch.int64)


class SmallSegmenter(nn.Module):
    def __init__(self, organs):
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, organs, 2, stride=2)

    def forward(self, x):
        return self.up(F.relu(self.mid(F.relu(self.down(x)))))


def phantom(n, gen):
    scan = torch.randn(n, 1, 32, 32, generator=gen) * 0.1
    organs = torch.zeros(n, 32, 32, dtype=torch.long)
    for row in range(n):
        for organ in range(1, 5):
            y, x = torch.randint(0, 22, (2,), generator=gen).tolist()
            organs[row, y : y + 9, x : x + 9] = organ
    return scan + organs.unsqueeze(1) * 0.5, organs


torch.manual_seed(6)
scan, organs = phantom(48, torch.Generator().manual_seed(6))
scan, organs = downsample_pair(scan, organs, 2)
net = SmallSegmenter(5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(5):
    order = torch.randperm(len(scan))
    for idx in order.split(12):
        optimizer.zero_grad()
        loss = F.nll_loss(F.log_softmax(net(scan[idx]), 1), organs[idx])
        loss.backward()
        optimizer.step()
    print(f"{epoch} {loss.item():.4f}")
