import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BoxDataset(Dataset):
    """One bright square on a dark picture: its class is the channel, its box is (cx, cy, w, h)."""

    def __init__(self, n, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.images = torch.rand(n, 3, size, size, generator=g) * 0.2
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.boxes = torch.zeros(n, 4)
        for i in range(n):
            w = int(torch.randint(6, 14, (1,), generator=g))
            x, y = torch.randint(0, size - w, (2,), generator=g).tolist()
            self.images[i, self.labels[i], y:y + w, x:x + w] = 1.0
            self.boxes[i] = torch.tensor([x + w / 2, y + w / 2, w, w]) / size

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.labels[i], self.boxes[i]


class TinySSD(nn.Module):
    def __init__(self, num_classes=3, is_test=False):
        super().__init__()
        self.is_test = is_test
        self.base_net = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU())
        self.classification_header = nn.Linear(32 * 16, num_classes)
        self.regression_header = nn.Linear(32 * 16, 4)

    def forward(self, x):
        x = self.base_net(x).flatten(1)
        confidence, locations = self.classification_header(x), self.regression_header(x)
        if self.is_test:
            confidence = F.softmax(confidence, dim=1)
        return confidence, locations


def create_net(num_classes, is_test=False):
    net = TinySSD(num_classes, is_test=is_test)
    if is_test:
        net = nn.DataParallel(net)
    return net


def train_step(net, batch, optimizer):
    images, labels, boxes = batch
    confidence, locations = net(images)
    loss = F.cross_entropy(confidence, labels) + F.smooth_l1_loss(locations, boxes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def test(loader, net, net_test):
    net_state = {'module.' + key: value for key, value in net.state_dict().items()}
    net_test.load_state_dict(net_state)
    net_test.eval()
    hits, err, n = 0, 0.0, 0
    with torch.no_grad():
        for images, labels, boxes in loader:
            confidence, locations = net_test(images)
            hits += (confidence.argmax(1) == labels).sum().item()
            err += (locations - boxes).abs().mean(1).sum().item()
            n += len(labels)
    return hits / n, err / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--num_epochs", type=int, default=4)
    parser.add_argument("--validation_steps", type=int, default=20)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(BoxDataset(256, seed=1), args.batch_size, shuffle=True)
    val_loader = DataLoader(BoxDataset(64, seed=2), args.batch_size)

    net = nn.DataParallel(create_net(3))
    net_test = nn.DataParallel(create_net(3, is_test=True))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

    step = 0
    for epoch in range(args.num_epochs):
        for batch in train_loader:
            net.train()
            loss = train_step(net, batch, optimizer)
            step += 1
            if step % args.validation_steps == 0:
                acc, err = test(val_loader, net, net_test)
                print("step %d  loss %.4f  val acc %.3f  box error %.3f" % (step, loss, acc, err))


if __name__ == "__main__":
    main()
