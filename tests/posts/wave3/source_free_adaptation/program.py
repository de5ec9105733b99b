import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)


class UNetSmall(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.inc = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, 1, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.fuse = nn.Sequential(nn.Conv2d(32, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        feat = self.fuse(torch.cat([x1, self.up(self.down(x1))], dim=1))
        return feat, self.outc(feat)


class PrototypeAdapter:
    """Adapts the features to the target hospital while the classifier of the source stays."""

    def __init__(self, source_model, lr=5e-4):
        self.model = copy.deepcopy(source_model)
        self.model.outc.requires_grad = False
        self.prototypes = self.model.outc.weight.detach().flatten(1).clone()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr, betas=(0.9, 0.99))

    def step(self, images):
        feat, logits = self.model(images)
        prob = logits.softmax(dim=1)
        entropy = -(prob * torch.log(prob + 1e-6)).sum(1).mean()
        flat = F.normalize(feat.permute(0, 2, 3, 1).reshape(-1, feat.size(1)), dim=1)
        sim = flat @ F.normalize(self.prototypes, dim=1).t()
        align = F.cross_entropy(sim / 0.1, logits.argmax(1).flatten())
        loss = entropy + 0.5 * align
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = [self.step(images) for (images,) in loader]
            print('epoch %d loss %.4f' % (epoch, sum(losses) / len(losses)))


source_model = UNetSmall()
target_images = torch.rand(22, 1, 48, 48)
adapter = PrototypeAdapter(source_model)
adapter.fit(DataLoader(TensorDataset(target_images), batch_size=8, shuffle=True), epochs=2)
moved = (adapter.model.outc.weight - source_model.outc.weight).abs().max().item()
print('largest change of the classifier %.6f' % moved)
