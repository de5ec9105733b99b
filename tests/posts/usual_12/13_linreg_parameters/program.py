# Lab 2: house prices with nn.Module
import numpy as np
import torch

rng = np.random.RandomState(5)
area = rng.uniform(40, 200, size=(120, 1))
rooms = rng.randint(1, 7, size=(120, 1))
age = rng.uniform(0, 60, size=(120, 1))
price = 2.1 * area + 12 * rooms - 0.8 * age + 30 + rng.normal(0, 8, size=(120, 1))

X = np.hstack([area, rooms, age]).astype(np.float32)
y = price.astype(np.float32)

X_train, X_test = X[:96], X[96:]
y_train, y_test = y[:96], y[96:]

x_mean, x_std = X_train.mean(axis=0), X_train.std(axis=0)
y_mean, y_std = y_train.mean(), y_train.std()

X_train = torch.from_numpy((X_train - x_mean) / x_std)
X_test = torch.from_numpy((X_test - x_mean) / x_std)
y_train = torch.from_numpy((y_train - y_mean) / y_std)
y_test = torch.from_numpy(y_test)


class LinearRegression(torch.nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.linear = torch.nn.Linear(in_features, 1)

    def forward(self, x):
        return self.linear(x)


def train(model, lr=0.1, n_epochs=100, print_every=20):
    optimizer = torch.optim.SGD(model.parameters, lr=lr)
    loss_fn = torch.nn.MSELoss()
    losses = []
    for epoch in range(n_epochs):
        y_pred = model(X_train)
        loss = loss_fn(y_pred, y_train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (epoch + 1) % print_every == 0:
            print("epoch", epoch + 1, "loss", loss.item())
    return losses


torch.manual_seed(5)
model = LinearRegression(X_train.shape[1])
losses = train(model)

with torch.no_grad():
    pred = model(X_test) * float(y_std) + float(y_mean)
    rmse = torch.sqrt(torch.mean((pred - y_test) ** 2)).item()
print("test RMSE: %.2f (thousand euro)" % rmse)
print("weights:", model.linear.weight.data.numpy().round(3), "bias:", model.linear.bias.item())
