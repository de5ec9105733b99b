import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self, n_inputs, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(n_inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        y, _ = self.lstm(x.unsqueeze(1))
        return self.out(y[:, -1])


class NARXNet:
    def __init__(self, net, epochs=5, batch_size=32, learning_rate=1e-2):
        self.net = net
        self.epochs = epochs
        self.batch_size = batch_size
        self.loss_func = nn.MSELoss()
        self.optimizer = torch.optim.Adam(net.parameters(), lr=learning_rate)

    def fit(self, X, y):
        loader = DataLoader(TensorDataset(X, y), batch_size=self.batch_size, shuffle=True)
        self.net.train()
        for epoch in range(self.epochs):
            total = 0.0
            for xb, yb in loader:
                loss = self.loss_func(self.net(xb), yb)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(xb)
            print("epoch %d: loss %.4f" % (epoch + 1, total / len(X)))
        return self

    def predict(self, X, y):
        self.net.eval()
        yhat = torch.zeros_like(y)
        with torch.no_grad():
            for i in range(len(X)):
                yhat[i] = self.net(X[i])
        return yhat


def make_data(n, n_inputs=30):
    X = torch.randn(n, n_inputs)
    y = 0.5 * X[:, :1] - 0.3 * X[:, 3:4] + 0.05 * torch.randn(n, 1)
    return X, y


X_train, y_train = make_data(256)
X_valid, y_valid = make_data(64)

narx_net = NARXNet(Regressor(n_inputs=30))
narx_net.fit(X_train, y_train)
yhat = narx_net.predict(X=X_valid, y=y_valid)
rrse = ((y_valid - yhat) ** 2).sum().sqrt() / ((y_valid - y_valid.mean()) ** 2).sum().sqrt()
print("relative error", rrse.item())
