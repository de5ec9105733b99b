import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from torch.utils.data import Dataset, DataLoader

# will the customer pay back the loan? (assignment 2)


class LoanDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.FloatTensor(X)
        self.y = torch.FloatTensor(y)

    def __len__(self):
        return self.X.shape[0]

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class LoanNet(nn.Module):
    def __init__(self, in_features, hidden=(32, 16)):
        super(LoanNet, self).__init__()
        layers = []
        prev = in_features
        for h in hidden:
            layers += [nn.Linear(prev, h), nn.BatchNorm1d(h), nn.ReLU()]
            prev = h
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(prev, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        return self.sigmoid(self.out(self.body(x)))


def train(model, loader, epochs, lr):
    criterion = nn.BCELoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
    for e in range(epochs):
        model.train()
        epoch_loss = 0
        for inputs, targets in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, targets.unsqueeze(1))
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print("Epoch %d: %.4f" % (e + 1, epoch_loss / len(loader)))


def evaluate(model, X, y):
    model.eval()
    with torch.no_grad():
        prob = model(torch.FloatTensor(X)).squeeze(1).numpy()
    return roc_auc_score(y, prob)


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    X, y = make_classification(n_samples=800, n_features=14, n_informative=7, weights=[0.7], random_state=4)
    split = 640
    train_loader = DataLoader(LoanDataset(X[:split], y[:split]), batch_size=32, shuffle=True)

    net = LoanNet(X.shape[1])
    train(net, train_loader, epochs=4, lr=1e-3)
    print("AUC on held-out customers: %.3f" % evaluate(net, X[split:], y[split:]))
