import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models.resnet import BasicBlock, ResNet

use_cuda = torch.cuda.is_available()


class MetricContainer:
    """Running mean of a value that is reported every few iterations."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.value = 0.0
        self.total = 0.0
        self.steps = 0

    def update(self, value, n=1):
        self.value = value
        self.total = self.total + value * n
        self.steps += n

    @property
    def mean(self):
        return float(self.total) / max(self.steps, 1)


class FoodClassifier:
    def __init__(self, n_classes=4, logging_iteration=5):
        self.model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=n_classes)
        self.criterion = nn.CrossEntropyLoss()
        self.logging_iteration = logging_iteration
        if use_cuda:
            self.model.cuda()
            self.criterion.cuda()

    def to_device(self, batch):
        images, labels = batch
        if use_cuda:
            return images.cuda(), labels.cuda()
        return images, labels

    def train_model(self, loader, steps):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        top1, loss_average = MetricContainer(), MetricContainer()
        epochs = math.ceil(steps / len(loader))
        self.model.train()
        for epoch in range(epochs):
            for idx, batch in enumerate(loader):
                images, labels = self.to_device(batch)
                out = self.model(images)
                loss = self.criterion(out, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                loss_average.update(loss.item(), len(labels))
                top1.update(self.top1(out, labels), len(labels))
                if idx % self.logging_iteration == 0:
                    print("train %d/%d loss %.4f acc %.3f" % (epoch, idx, loss_average.mean, top1.mean))

    @torch.no_grad()
    def evaluate_model(self, loader):
        top1, loss_average = MetricContainer(), MetricContainer()
        self.model.eval()
        for idx, batch in enumerate(loader):
            images, labels = self.to_device(batch)
            out = self.model(images)
            loss = self.criterion(out, labels)
            loss_average.update(loss, len(labels))
            top1.update(self.top1(out, labels), len(labels))
            if idx % self.logging_iteration == 0:
                print("eval step %d acc %.3f" % (idx, top1.mean))
        return loss_average.mean, top1.mean

    @staticmethod
    def top1(out, labels):
        return (out.argmax(dim=1) == labels).float().mean().item()


def make_pictures(n, seed):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (n,), generator=g)
    images = torch.randn(n, 3, 64, 64, generator=g)
    images[:, 0] += labels[:, None, None] * 0.5
    return TensorDataset(images, labels)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_pictures(64, 0), batch_size=16, shuffle=True)
    eval_loader = DataLoader(make_pictures(240, 1), batch_size=16)
    classifier = FoodClassifier()
    classifier.train_model(train_loader, steps=12)
    loss, acc = classifier.evaluate_model(eval_loader)
    print("validation loss %.4f acc %.3f" % (loss, acc))


if __name__ == "__main__":
    main()
