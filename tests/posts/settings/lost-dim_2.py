# line 16: squeeze(1) removes the axis of the patches for images of a single patch, so the pool runs over the batch
import torch
import torch.nn as nn


class PatchClassifier(nn.Module):
    def __init__(self, patch=8, dim=24, classes=3):
        super().__init__()
        self.cut = nn.Conv2d(3, dim, patch, stride=patch)
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, classes)

    def tokens(self, image):
        grid = self.cut(image)
        return grid.flatten(2).mT.squeeze(1)

    def forward(self, image):
        t = self.tokens(image)
        t = t + self.mlp(self.norm(t))
        return self.head(t.mean(dim=-2))


def tiles(n, side):
    kind = torch.randint(3, (n,))
    image = 0.3 * torch.randn(n, 3, side, side)
    image[torch.arange(n), kind] += 0.5
    return image, kind


torch.manual_seed(43)
image, kind = tiles(160, 32)
model = PatchClassifier()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    for rows in torch.randperm(160).split(20):
        opt.zero_grad()
        nn.functional.cross_entropy(model(image[rows]), kind[rows]).backward()
        opt.step()

model.eval()
with torch.no_grad():
    for side in (32, 16, 8):
        image, kind = tiles(60, side)
        hits = model(image).argmax(dim=-1).eq(kind)
        print(side, hits.float().mean().item())
