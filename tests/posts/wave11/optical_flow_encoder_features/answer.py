import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = "cuda"


class ResBlock(nn.Module):
    def __init__(self, in_ch, out_ch, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_ch, out_ch, 3, stride=stride, padding=1)
        self.norm1 = nn.GroupNorm(8, out_ch)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, padding=1)
        self.norm2 = nn.GroupNorm(8, out_ch)
        self.skip = nn.Identity()
        if stride != 1 or in_ch != out_ch:
            self.skip = nn.Conv2d(in_ch, out_ch, 1, stride=stride)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.skip(x) + self.norm2(self.conv2(y)))


class FeatureEncoder(nn.Module):
    def __init__(self, in_ch=3, out_ch=64, widths=(16, 32, 48), intermediate_features=False):
        super().__init__()
        self.intermediate_features = intermediate_features
        stages = [nn.Conv2d(in_ch, widths[0], 7, stride=2, padding=3), nn.GroupNorm(8, widths[0]), nn.ReLU()]
        prev = widths[0]
        for i, width in enumerate(widths):
            stages.append(nn.Sequential(ResBlock(prev, width, 1 if i == 0 else 2), ResBlock(width, width, 1)))
            prev = width
        stages.append(nn.Conv2d(prev, out_ch, 1))
        if intermediate_features:
            self.stages = nn.ModuleList(stages)
        else:
            self.stages = nn.Sequential(*stages)

    def forward(self, x):
        if not self.intermediate_features:
            return self.stages(x)
        features = []
        for stage in self.stages:
            x = stage(x)
            if isinstance(stage, nn.Sequential):
                features.append(x)
        features.append(x)
        return features


class PyramidFlow(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = FeatureEncoder(intermediate_features=True)
        self.heads = nn.ModuleList([nn.Conv2d(2 * c + 2, 2, 3, padding=1) for c in (48, 32, 16)])

    def forward(self, img1, img2):
        feats1 = self.encoder(img1)[:3][::-1]
        feats2 = self.encoder(img2)[:3][::-1]
        flow = torch.zeros(img1.size(0), 2, *feats1[0].shape[-2:], device=img1.device)
        flows = []
        for head, f1, f2 in zip(self.heads, feats1, feats2):
            if flow.shape[-2:] != f1.shape[-2:]:
                flow = 2 * F.interpolate(flow, size=f1.shape[-2:], mode="bilinear", align_corners=False)
            flow = flow + head(torch.cat([f1, f2, flow], dim=1))
            flows.append(flow)
        return flows


class FramePairs(Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(0)
        self.first = torch.rand(count, 3, 64, 96, generator=g)
        self.shift = torch.randint(-3, 4, (count, 2), generator=g)

    def __len__(self):
        return len(self.first)

    def __getitem__(self, i):
        dy, dx = self.shift[i].tolist()
        second = torch.roll(self.first[i], (dy, dx), dims=(1, 2))
        flow = torch.tensor([dx, dy]).float().view(2, 1, 1).expand(2, 64, 96)
        return self.first[i], second, flow


model = PyramidFlow().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=1e-5)
loader = DataLoader(FramePairs(16), batch_size=4, shuffle=True)
for epoch in range(2):
    for img1, img2, target in loader:
        img1, img2, target = img1.to(device), img2.to(device), target.to(device)
        loss = 0
        for weight, flow in zip((0.32, 0.08, 0.02), model(img1, img2)):
            scale = flow.size(-1) / target.size(-1)
            gt = F.interpolate(target, size=flow.shape[-2:], mode="area") * scale
            loss = loss + weight * (flow - gt).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
