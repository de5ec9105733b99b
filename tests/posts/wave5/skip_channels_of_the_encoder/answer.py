import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader


class ConvNextEncoder(nn.Module):
    def __init__(self, in_channels=1, dims=(16, 32, 64, 128)):
        super().__init__()
        self.stages = nn.ModuleList()
        prev = in_channels
        for i, d in enumerate(dims):
            stride = 4 if i == 0 else 2
            self.stages.append(nn.Sequential(nn.Conv2d(prev, d, stride, stride=stride), nn.GroupNorm(1, d), nn.GELU()))
            prev = d

    def forward(self, x):
        features = []
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        return features


class UpBlock(nn.Module):
    def __init__(self, x_channels, skip_channels, refine_filters):
        super().__init__()
        self.refine = nn.Conv2d(x_channels + skip_channels, refine_filters, 3, padding=1)

    def forward(self, x, skip):
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return F.relu(self.refine(torch.cat([x, skip], dim=1)))


class Decoder(nn.Module):
    def __init__(self, x_channels, encoder_channels, filters=16, filters_rate=1.5, up_blocks=3):
        super().__init__()
        self.blocks = nn.ModuleList()
        for block in range(up_blocks):
            skip_filters = int(filters * filters_rate ** (up_blocks - 1 - block))
            self.blocks.append(UpBlock(x_channels, encoder_channels[-2 - block], skip_filters))
            x_channels = skip_filters
        self.out_channels = x_channels

    def forward(self, features):
        x = features[-1]
        for block, skip in zip(self.blocks, features[-2::-1]):
            x = block(x, skip)
        return x


class PoseModel(nn.Module):
    def __init__(self, nodes=5):
        super().__init__()
        self.encoder = ConvNextEncoder()
        self.decoder = Decoder(128, (16, 32, 64, 128))
        self.head = nn.Conv2d(self.decoder.out_channels, nodes, 1)

    def forward(self, x):
        return self.head(self.decoder(self.encoder(x)))


data = TensorDataset(torch.randn(16, 1, 64, 64), torch.rand(16, 5, 16, 16))
model = PoseModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for epoch in range(2):
    for image, confmaps in DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(image), confmaps)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
