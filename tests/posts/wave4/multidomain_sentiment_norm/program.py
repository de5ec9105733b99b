import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FeatureExtractor(nn.Module):
    """MLP over bag-of-ngram features of a review"""

    def __init__(self, in_size=500, hidden=(256,), out_size=128, dropout=0.4):
        super().__init__()
        layers, prev = [], in_size
        for h in hidden:
            layers += [nn.Dropout(dropout), nn.Linear(prev, h), nn.ReLU()]
            prev = h
        layers += [nn.Linear(prev, out_size), nn.ReLU()]
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class SentimentClassifier(nn.Module):
    def __init__(self, num_layers=1, hidden_size=128, output_size=2, dropout=0.4, batch_norm=True):
        super().__init__()
        self.net = nn.Sequential()
        for i in range(num_layers):
            self.net.add_module('dropout-{}'.format(i), nn.Dropout(p=dropout))
            if batch_norm:
                self.net.add_module('bn-{}'.format(i), nn.BatchNorm1d(hidden_size))
            self.net.add_module('linear-{}'.format(i), nn.Linear(hidden_size, hidden_size))
            self.net.add_module('relu-{}'.format(i), nn.ReLU())
        self.net.add_module('linear-final', nn.Linear(hidden_size, output_size))

    def forward(self, x):
        return F.log_softmax(self.net(x), dim=1)


def make_domain(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = (torch.rand(n, 500, generator=g) < 0.05).float()
    y = (x[:, :250].sum(1) > x[:, 250:].sum(1)).long()
    return TensorDataset(x, y)


torch.manual_seed(100)
batch_size = 16
domains = {'books': make_domain(48, 1), 'dvd': make_domain(33, 2)}
loaders = {name: DataLoader(data, batch_size=batch_size, shuffle=True)
           for name, data in domains.items()}

F_s, C = FeatureExtractor(), SentimentClassifier()
optimizer = torch.optim.Adam(list(F_s.parameters()) + list(C.parameters()), lr=1e-3)

for epoch in range(2):
    F_s.train()
    C.train()
    for name, loader in loaders.items():
        correct = total = 0
        for inputs, targets in loader:
            outputs = C(F_s(inputs))
            loss = F.nll_loss(outputs, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (outputs.argmax(1) == targets).sum().item()
            total += len(targets)
        print('epoch {} {}: training accuracy {:.2%}'.format(epoch, name, correct / total))
