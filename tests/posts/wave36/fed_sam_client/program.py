import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SAM:
    """Ascent to the worst point of the neighbourhood, descent from there."""

    def __init__(self, optimizer, model, rho):
        self.optimizer = optimizer
        self.model = model
        self.rho = rho
        self.eps = {}

    @torch.no_grad()
    def ascent_step(self):
        grads = [p.grad.norm(p=2) for p in self.model.parameters() if p.grad is not None]
        scale = self.rho / (torch.norm(torch.stack(grads), p=2) + 1e-16)
        for name, p in self.model.named_parameters():
            if p.grad is None:
                continue
            eps = p.grad * scale
            p.add_(eps)
            self.eps[name] = eps
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descent_step(self):
        for name, p in self.model.named_parameters():
            if name in self.eps:
                p.sub_(self.eps[name])
        self.optimizer.step()
        self.optimizer.zero_grad()


class ClientCNN(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 5, padding=2)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Client:
    def __init__(self, cid, dataset, args):
        self.id = cid
        self.args = args
        self.loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
        self.num_samples = len(dataset)

    def train(self, global_model):
        model = copy.deepcopy(global_model)
        model.train()
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=self.args.lr, weight_decay=4e-4)
        minimizer = SAM(optimizer, model, rho=self.args.rho)
        losses = []
        for _ in range(self.args.local_epochs):
            for image, label in self.loader:
                optimizer.zero_grad()
                pred = model(image)
                loss = criterion(pred, label)
                loss.backward()
                minimizer.ascent_step()

                criterion(pred, label).backward()
                minimizer.descent_step()
                losses.append(loss.item())
        return self.num_samples, model.state_dict(), float(np.mean(losses))


def aggregate(updates):
    total = sum(n for n, _, _ in updates)
    first = updates[0][1]
    return {key: sum(sd[key] * (n / total) for n, sd, _ in updates) for key in first}


def make_clients(args):
    g = torch.Generator().manual_seed(args.seed)
    protos = torch.randn(10, 3, 16, 16, generator=g)
    clients = []
    for cid in range(args.num_clients):
        labels = torch.randint(0, 10, (48,), generator=g) % (3 + cid)
        images = protos[labels] + 0.7 * torch.randn(48, 3, 16, 16, generator=g)
        clients.append(Client(cid, TensorDataset(images, labels), args))
    return clients


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--num-clients', type=int, default=6)
    p.add_argument('--clients-per-round', type=int, default=3)
    p.add_argument('--num-rounds', type=int, default=3)
    p.add_argument('--local-epochs', type=int, default=1)
    p.add_argument('--batch-size', type=int, default=16)
    p.add_argument('--lr', type=float, default=0.05)
    p.add_argument('--rho', type=float, default=0.1)
    p.add_argument('--seed', type=int, default=0)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    server_model = ClientCNN()
    clients = make_clients(args)
    for r in range(args.num_rounds):
        chosen = rng.choice(clients, args.clients_per_round, replace=False)
        updates = [c.train(server_model) for c in chosen]
        server_model.load_state_dict(aggregate(updates))
        print('round', r, 'clients', [c.id for c in chosen], 'loss %.3f' % np.mean([u[2] for u in updates]))


if __name__ == '__main__':
    main()
