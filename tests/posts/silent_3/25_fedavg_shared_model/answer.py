import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CLIENTS, ROUNDS, LOCAL_EPOCHS = 6, 10, 5


def make_client(labels, n, seed):
    g = np.random.default_rng(seed)
    centres = np.random.default_rng(50).normal(0, 0.45, (6, 20))
    y = g.choice(labels, n)
    x = centres[y] + g.normal(0, 1.1, (n, 20))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 48)
        self.fc2 = nn.Linear(48, 6)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Client:
    def __init__(self, cid, data):
        self.cid, self.data = cid, data

    def local_update(self, global_model):
        model = copy.deepcopy(global_model)
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(LOCAL_EPOCHS):
            for x, y in DataLoader(self.data, batch_size=20, shuffle=True):
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return copy.deepcopy(model.state_dict()), len(self.data)


def aggregate(updates):
    total = sum(n for _, n in updates)
    return {key: sum(state[key] * (n / total) for state, n in updates) for key in updates[0][0]}


def evaluate(model, data):
    model.eval()
    x, y = data.tensors
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


torch.manual_seed(0)
rng = np.random.default_rng(0)
clients = [Client(c, make_client([c, (c + 1) % 6], int(rng.integers(80, 240)), seed=10 + c)) for c in range(CLIENTS)]
test = make_client(list(range(6)), 1200, seed=99)
server = Net()

for rnd in range(1, ROUNDS + 1):
    updates = []
    for client in clients:
        updates.append(client.local_update(server))
    server.load_state_dict(aggregate(updates))
    loss, acc = evaluate(server, test)
    if rnd % 2 == 0:
        print(f"round {rnd}: test loss {loss:.3f}  accuracy {acc:.3f}")
