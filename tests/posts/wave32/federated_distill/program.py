import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RunningMean:
    def __init__(self):
        self.total, self.steps = 0.0, 0

    def update(self, value):
        self.total += value
        self.steps += 1

    def value(self):
        return self.total / max(self.steps, 1)


def block(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)
    )


class SmallNet(nn.Module):
    def __init__(self, width, num_classes=10):
        super().__init__()
        self.stem = block(3, width, 1)
        self.body = nn.Sequential(block(width, width * 2, 2), block(width * 2, width * 4, 2))
        self.fc = nn.Linear(width * 4, num_classes)

    def forward(self, x):
        h = self.stem(x)
        z = F.adaptive_avg_pool2d(self.body(h), 1).flatten(1)
        return self.fc(z), h


class Node:
    def __init__(self, model, data=None):
        self.model = model
        self.data = data


def kd_loss(student_logits, teacher_logits, T):
    p = F.log_softmax(student_logits / T, dim=1)
    q = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(p, q, reduction="batchmean") * T * T


def transfer(learner, teacher, batches, args):
    optimizer = torch.optim.SGD(learner.model.parameters(), lr=args.lr, momentum=0.9)
    for images, labels in batches:
        optimizer.zero_grad()
        teacher_logits, _ = teacher.model(images)
        logits, _ = learner.model(images)
        loss = F.cross_entropy(logits, labels) + args.alpha * kd_loss(logits, teacher_logits.detach(), args.temp)
        loss.backward()
        optimizer.step()


def test_cloud(model, loader, rnd):
    acc = RunningMean()
    for images, labels in loader:
        logits, _ = model(images)
        acc.update((logits.argmax(1) == labels).float().mean().item())
    print("round %d cloud top1 %.4f" % (rnd, acc.value()))


def synthetic(n, seed, protos):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (n,), generator=g)
    images = protos[labels] + 1.2 * torch.randn(n, 3, 16, 16, generator=g)
    return TensorDataset(images, labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", default=3, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--lr", default=0.02, type=float)
    parser.add_argument("--alpha", default=1.0, type=float)
    parser.add_argument("--temp", default=2.0, type=float)
    args = parser.parse_args()

    torch.manual_seed(0)
    protos = torch.randn(10, 3, 16, 16)
    clients = []
    for c in range(args.clients):
        loader = DataLoader(synthetic(192, c + 1, protos), batch_size=32, shuffle=True)
        clients.append(Node(SmallNet(8), list(loader)))
    cloud = Node(SmallNet(16))
    test_data = synthetic(256, 99, protos)
    order = test_data.tensors[1].argsort()
    test_loader = DataLoader(TensorDataset(test_data.tensors[0][order], test_data.tensors[1][order]), batch_size=32)

    for rnd in range(args.rounds):
        for client in clients:
            transfer(client, cloud, client.data, args)
            transfer(cloud, client, client.data, args)
        test_cloud(cloud.model, test_loader, rnd)


if __name__ == "__main__":
    main()
