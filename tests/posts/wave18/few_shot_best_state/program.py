import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Sampler


class SketchSet(Dataset):
    def __init__(self, n_classes, per_class=20, dim=40, seed=0, noise=1.2):
        g = torch.Generator().manual_seed(seed)
        protos = torch.randn(n_classes, dim, generator=g)
        self.labels = torch.arange(n_classes).repeat_interleave(per_class)
        self.data = protos[self.labels] + noise * torch.randn(len(self.labels), dim, generator=g)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i], int(self.labels[i])


class TaskSampler(Sampler):
    def __init__(self, dataset, n_way, n_shot, n_query, n_tasks, seed=None):
        self.items = {}
        for i, y in enumerate(dataset.labels.tolist()):
            self.items.setdefault(y, []).append(i)
        self.n_way, self.n_shot, self.n_query, self.n_tasks = n_way, n_shot, n_query, n_tasks
        self.seed = seed

    def __len__(self):
        return self.n_tasks

    def __iter__(self):
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_tasks):
            classes = rng.choice(list(self.items), self.n_way, replace=False)
            yield np.concatenate([rng.choice(self.items[c], self.n_shot + self.n_query, replace=False)
                                  for c in classes]).tolist()


class PrototypicalNetworks(nn.Module):
    def __init__(self, backbone, n_way, n_shot, n_query):
        super().__init__()
        self.backbone = backbone
        self.n_way, self.n_shot, self.n_query = n_way, n_shot, n_query

    def forward(self, batch):
        z = self.backbone(batch).view(self.n_way, self.n_shot + self.n_query, -1)
        protos = z[:, :self.n_shot].mean(1)
        query = z[:, self.n_shot:].reshape(self.n_way * self.n_query, -1)
        labels = torch.arange(self.n_way).repeat_interleave(self.n_query)
        return -torch.cdist(query, protos), labels


def training_epoch(model, loader, optimizer):
    model.train()
    losses = []
    for batch, _ in loader:
        scores, labels = model(batch)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = total = 0
    for batch, _ in loader:
        scores, labels = model(batch)
        correct += (scores.argmax(1) == labels).sum().item()
        total += len(labels)
    return correct / total


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--lr', type=float, default=0.03)
    args = parser.parse_args()
    torch.manual_seed(0)
    n_way, n_shot, n_query = 5, 2, 6
    train_set, val_set = SketchSet(16, seed=0), SketchSet(10, seed=1)
    train_loader = DataLoader(train_set, batch_sampler=TaskSampler(train_set, n_way, n_shot, n_query, 60))
    val_loader = DataLoader(val_set, batch_sampler=TaskSampler(val_set, n_way, n_shot, n_query, 60, seed=3))

    backbone = nn.Sequential(nn.Linear(40, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    few_shot_classifier = PrototypicalNetworks(backbone, n_way, n_shot, n_query)
    optimizer = torch.optim.Adam(few_shot_classifier.parameters(), lr=args.lr)
    best_state = few_shot_classifier.state_dict()
    best_validation_accuracy = 0.0
    for epoch in range(args.epochs):
        loss = training_epoch(few_shot_classifier, train_loader, optimizer)
        accuracy = evaluate(few_shot_classifier, val_loader)
        if accuracy > best_validation_accuracy:
            best_validation_accuracy = accuracy
            best_state = few_shot_classifier.state_dict()
            print(f'epoch {epoch}: new best model')
        print(f'epoch {epoch}: loss {loss:.3f} val accuracy {accuracy:.4f}')
    few_shot_classifier.load_state_dict(best_state)
    print(f'best {best_validation_accuracy:.4f}, loaded {evaluate(few_shot_classifier, val_loader):.4f}')
