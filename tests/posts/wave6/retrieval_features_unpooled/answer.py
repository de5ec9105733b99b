import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MBConvBlock(nn.Module):
    def __init__(self, inp, oup, expand=4):
        super().__init__()
        mid = inp * expand
        self._expand_conv = nn.Conv2d(inp, mid, 1, bias=False)
        self._bn0 = nn.BatchNorm2d(mid)
        self._depthwise_conv = nn.Conv2d(mid, mid, 3, stride=2, padding=1, groups=mid, bias=False)
        self._bn1 = nn.BatchNorm2d(mid)
        self._project_conv = nn.Conv2d(mid, oup, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(oup)

    def forward(self, x):
        x = F.silu(self._bn0(self._expand_conv(x)))
        x = F.silu(self._bn1(self._depthwise_conv(x)))
        return self._bn2(self._project_conv(x))


class EfficientNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self._conv_stem = nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False)
        self._bn0 = nn.BatchNorm2d(16)
        self._blocks = nn.ModuleList([MBConvBlock(16, 24), MBConvBlock(24, 40)])
        self._conv_head = nn.Conv2d(40, 128, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(128)
        self._avg_pooling = nn.AdaptiveAvgPool2d(1)
        self._dropout = nn.Dropout(0.2)
        self._fc = nn.Linear(128, num_classes)

    def extract_features(self, inputs):
        x = F.silu(self._bn0(self._conv_stem(inputs)))
        for block in self._blocks:
            x = block(x)
        return F.silu(self._bn1(self._conv_head(x)))

    def forward(self, inputs):
        x = self.extract_features(inputs)
        x = self._avg_pooling(x).flatten(start_dim=1)
        return self._fc(self._dropout(x))


def train(model, loader, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch", epoch, "loss", total / len(loader))


@torch.no_grad()
def embed(model, images):
    model.eval()
    vectors = []
    for batch in images.split(16):
        features = model.extract_features(batch)
        features = F.adaptive_avg_pool2d(features, 1).flatten(1)
        vectors.append(F.normalize(features, dim=1))
    return torch.cat(vectors)


images, labels = torch.rand(64, 3, 56, 56), torch.randint(0, 6, (64,))
queries = torch.rand(8, 3, 56, 56)
model = EfficientNet(num_classes=6)
train(model, DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True))

gallery = embed(model, images)
found = embed(model, queries)
similarity = found @ gallery.t()
top = similarity.topk(5, dim=1).indices
for i, row in enumerate(top):
    print("query", i, "labels of the nearest images", labels[row].tolist())
