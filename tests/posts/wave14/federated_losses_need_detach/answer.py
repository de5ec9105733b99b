import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_clients(n_clients=5, n_classes=4, dim=12, seed=10):
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 2, size=(n_classes, dim))
    clients = []
    for _ in range(n_clients):
        mix = rng.dirichlet(np.full(n_classes, 0.5))
        n = int(rng.integers(60, 140))
        y = rng.choice(n_classes, size=n, p=mix)
        x = centers[y] + rng.normal(0, 1, size=(n, dim))
        clients.append((torch.tensor(x, dtype=torch.float32), torch.tensor(y)))
    return clients


class Net(nn.Module):
    def __init__(self, dim=12, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class User:
    def __init__(self, uid, data, model, batch_size=16):
        x, y = data
        cut = int(0.8 * len(y))
        self.id = uid
        self.model = copy.deepcopy(model)
        self.train_loader = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size, shuffle=True)
        self.test_data = (x[cut:], y[cut:])
        self.loss = nn.CrossEntropyLoss()
        self.train_samples = cut

    def set_parameters(self, model):
        self.model.load_state_dict(model.state_dict())

    def train(self, epochs, lr=0.05):
        self.model.train()
        opt = torch.optim.SGD(self.model.parameters(), lr=lr)
        for _ in range(epochs):
            for x, y in self.train_loader:
                opt.zero_grad()
                self.loss(self.model(x), y).backward()
                opt.step()

    def test(self):
        self.model.eval()
        x, y = self.test_data
        output = self.model(x)
        correct = (output.argmax(1) == y).sum().item()
        return correct, len(y), self.loss(output, y)


class Server:
    def __init__(self, clients):
        self.model = Net()
        self.users = [User(i, c, self.model) for i, c in enumerate(clients)]
        self.history = []

    def aggregate(self):
        total = sum(u.train_samples for u in self.users)
        state = {k: torch.zeros_like(v) for k, v in self.model.state_dict().items()}
        for u in self.users:
            for k, v in u.model.state_dict().items():
                state[k] += v * u.train_samples / total
        self.model.load_state_dict(state)

    def evaluate(self):
        correct, samples, losses = [], [], []
        for u in self.users:
            u.set_parameters(self.model)
            c, n, l = u.test()
            correct.append(c)
            samples.append(n)
            losses.append(l)
        losses = [l.detach() for l in losses]
        acc = np.sum(correct) / np.sum(samples)
        loss = np.sum([x * np.asarray(y) for x, y in zip(samples, losses)]) / np.sum(samples)
        self.history.append((acc, loss))
        print('average accuracy %.4f, loss %.4f' % (acc, loss))

    def fit(self, rounds=5, local_epochs=2):
        for r in range(rounds):
            for u in self.users:
                u.set_parameters(self.model)
                u.train(local_epochs)
            self.aggregate()
            self.evaluate()


if __name__ == '__main__':
    torch.manual_seed(0)
    Server(make_clients()).fit()
