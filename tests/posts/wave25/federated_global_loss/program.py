import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
np.random.seed(10)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_model():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))


class User:
    def __init__(self, uid, center, n_train, n_test, local_epochs=2):
        self.id = uid
        self.local_epochs = local_epochs
        self.model = make_model().to(device)
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.train_data = self._data(center, n_train)
        self.test_data = self._data(center, n_test)
        self.trainloader = DataLoader(self.train_data, batch_size=16, shuffle=True)
        self.testloader = DataLoader(self.test_data, batch_size=n_test)

    @staticmethod
    def _data(center, n):
        y = torch.randint(0, 5, (n,))
        return TensorDataset(center[y] + torch.randn(n, 8, 8), y)

    def set_parameters(self, server_model):
        self.model.load_state_dict(server_model.state_dict())

    def train(self):
        self.model.train()
        for _ in range(self.local_epochs):
            for x, y in self.trainloader:
                x, y = x.to(device), y.to(device)
                self.optimizer.zero_grad()
                self.loss(self.model(x), y).backward()
                self.optimizer.step()

    def test(self):
        self.model.eval()
        test_acc, loss = 0, 0
        for x, y in self.testloader:
            x, y = x.to(device), y.to(device)
            output = self.model(x)
            loss += self.loss(output, y)
            test_acc += torch.sum(output.argmax(dim=1) == y).item()
        return test_acc, loss, len(self.test_data)


class Server:
    def __init__(self, users):
        self.users = users
        self.model = make_model().to(device)

    def aggregate(self):
        total = sum(len(u.train_data) for u in self.users)
        mean = copy.deepcopy(self.model.state_dict())
        for key in mean:
            mean[key] = sum(u.model.state_dict()[key] * (len(u.train_data) / total) for u in self.users)
        self.model.load_state_dict(mean)

    def evaluate(self):
        test_samples, test_accs, test_losses = [], [], []
        for user in self.users:
            user.set_parameters(self.model)
            acc, loss, n = user.test()
            test_accs.append(acc)
            test_losses.append(loss)
            test_samples.append(n)
        mean_acc = np.sum(test_accs) / np.sum(test_samples)
        mean_loss = float(np.sum([n * l for n, l in zip(test_samples, test_losses)])) / sum(test_samples)
        print("server accuracy {:.4f} loss {:.3f}".format(mean_acc, mean_loss))


if __name__ == "__main__":
    centers = 0.5 * torch.randn(5, 8, 8)
    users = [User(k, centers, n_train=int(np.random.randint(40, 120)), n_test=30) for k in range(6)]
    server = Server(users)
    for mean_iter in range(4):
        print("------------- Round", mean_iter, "-------------")
        server.evaluate()
        for user in server.users:
            user.set_parameters(server.model)
            user.train()
        server.aggregate()
