import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)

backbone = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(),
)


@torch.no_grad()
def extract_features(net, images, batch_size=32):
    net.eval()
    feats = []
    for chunk in images.split(batch_size):
        feats.append(net(chunk))
    feats = torch.cat(feats)
    return (feats - feats.mean(0)) / (feats.std(0) + 1e-6)


images = torch.rand(128, 3, 32, 32)
labels = (images.mean(dim=(1, 2, 3)) > 0.5).long()

features = extract_features(backbone, images)

probe = nn.Linear(32, 2)
optimizer = torch.optim.SGD(probe.parameters(), lr=0.5)
for epoch in range(20):
    logits = probe(features)
    loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        acc = (logits.argmax(1) == labels).float().mean()
        print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")
