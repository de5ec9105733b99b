# Exports a torchvision network as TorchScript file for the similarity server,
# then fills a small index to check that everything loads.
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet18

NUM_CLASSES = 20


class ResNetServe(nn.Module):
    """Returns class probabilities and the feature vector of every image."""

    def __init__(self, net):
        super(ResNetServe, self).__init__()
        self.body = nn.Sequential(
            net.conv1, net.bn1, net.relu, net.maxpool,
            net.layer1, net.layer2, net.layer3, net.layer4, net.avgpool,
        )
        self.fc = net.fc

    def forward(self, x):
        features = torch.flatten(self.body(x), 1)
        predictions = F.softmax(self.fc(features), dim=1)
        return predictions, features


def export(net, path, size=64):
    net.eval()
    example = torch.rand(1, 3, size, size)
    with torch.no_grad():
        traced = torch.jit.trace(net, example)
    traced.save(path)
    print("saved %s (%.1f MB)" % (os.path.basename(path), os.path.getsize(path) / 1e6))


class ImageIndex(object):
    def __init__(self, model_path):
        self.model = torch.jit.load(model_path)
        self.features = []
        self.labels = []
        self.scores = []

    def add(self, images):
        with torch.no_grad():
            predictions, features = self.model(images)
        score, label = predictions.max(dim=1)
        self.features.append(features.numpy())
        self.labels.extend(label.tolist())
        self.scores.extend(score.tolist())

    def query(self, image, top_k=3):
        with torch.no_grad():
            predictions, features = self.model(image.unsqueeze(0))
        db = np.concatenate(self.features)
        dist = np.linalg.norm(db - features.numpy(), axis=1)
        best = dist.argsort()[:top_k]
        return best, predictions[0].topk(3)


def main():
    torch.manual_seed(3)
    workdir = tempfile.mkdtemp()
    path = os.path.join(workdir, "resnet18.pth")
    export(ResNetServe(resnet18(weights=None, num_classes=NUM_CLASSES)), path)

    index = ImageIndex(path)
    images = torch.rand(24, 3, 64, 64)
    for start in range(0, len(images), 8):
        index.add(images[start:start + 8])

    for i in range(5):
        print("image %02d: class %d with p=%.3f" % (i, index.labels[i], index.scores[i]))

    found, top = index.query(images[7])
    print("neighbours of image 7:", found.tolist())
    for p, c in zip(top.values.tolist(), top.indices.tolist()):
        print("  class %2d  p=%.3f" % (c, p))


if __name__ == "__main__":
    main()
