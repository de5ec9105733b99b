import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class ClientDataset(Dataset):
    def __init__(self, client, n=30, n_features=20, n_classes=4):
        rng = np.random.RandomState(client)
        self.data = rng.randn(n, n_features).astype(np.float32)
        self.targets = rng.randint(0, n_classes, n).astype(np.float32)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i], self.targets[i]


def compute_loss(model, criterion, output, label):
    """Mean loss of the batch."""
    if isinstance(criterion, nn.CrossEntropyLoss):
        loss = criterion(output, label.long())
    elif isinstance(criterion, nn.MSELoss):
        loss = criterion(output, label.view_as(output))
    else:
        raise ValueError('unknown criterion')
    return loss


def local_update(global_model, client, args):
    model = copy.deepcopy(global_model)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.local_lr)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(ClientDataset(client), batch_size=args.batch_size, shuffle=True)
    for _ in range(args.local_epochs):
        for data, label in loader:
            optimizer.zero_grad()
            loss = compute_loss(model, criterion, model(data), label)
            loss.backward()
            optimizer.step()
    return model.state_dict(), loss.item()


def average(states):
    return {k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]}


if __name__ == '__main__':
    parser = argparse.ArgumentParser('federated averaging')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--clients', type=int, default=4)
    parser.add_argument('--local-epochs', type=int, default=1)
    parser.add_argument('--local-lr', type=float, default=0.1)
    parser.add_argument('--batch-size', type=int, default=8)
    args = parser.parse_args()

    global_model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4))
    for r in range(args.rounds):
        results = [local_update(global_model, c, args) for c in range(args.clients)]
        global_model.load_state_dict(average([s for s, _ in results]))
        print('round', r, 'mean client loss', np.mean([l for _, l in results]))
