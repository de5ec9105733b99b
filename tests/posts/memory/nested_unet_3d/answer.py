import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 64


class Volumes(Dataset):
    def __init__(self, n=120):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        volume = torch.randn(1, SIZE, SIZE, SIZE)
        return volume, (volume > 1.5).float()


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv3d(cin, cout, 3, padding=1)
        self.bn1 = nn.BatchNorm3d(cout)
        self.conv2 = nn.Conv3d(cout, cout, 3, padding=1)
        self.bn2 = nn.BatchNorm3d(cout)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)))


class NestedUNet(nn.Module):
    def __init__(self, n1=48, depth=4):
        super().__init__()
        w = [n1 * 2 ** i for i in range(depth)]
        self.depth = depth
        self.nodes = nn.ModuleDict()
        for i in range(depth):
            self.nodes[f"{i}_0"] = Block(1 if i == 0 else w[i - 1], w[i])
        for j in range(1, depth):
            for i in range(depth - j):
                self.nodes[f"{i}_{j}"] = Block(j * w[i] + w[i + 1], w[i])
        self.final = nn.Conv3d(n1, 1, 1)

    def forward(self, x):
        grid = {}
        for i in range(self.depth):
            grid[i, 0] = self.nodes[f"{i}_0"](x)
            x = F.max_pool3d(grid[i, 0], 2)
        for j in range(1, self.depth):
            for i in range(self.depth - j):
                up = F.interpolate(grid[i + 1, j - 1], scale_factor=2, mode="trilinear", align_corners=True)
                skips = [grid[i, k] for k in range(j)]
                grid[i, j] = self.nodes[f"{i}_{j}"](torch.cat(skips + [up], dim=1))
        return self.final(grid[0, self.depth - 1])


device = torch.device("cuda")
loader = DataLoader(Volumes(), batch_size=1, shuffle=True)
model = NestedUNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(50):
    for volume, mask in loader:
        volume, mask = volume.to(device), mask.to(device)
        loss = F.binary_cross_entropy_with_logits(model(volume), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
