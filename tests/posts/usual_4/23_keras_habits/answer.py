import numpy as np
import torch
import torch.nn as nn


def to_categorical(y, num_classes):
    return np.eye(num_classes, dtype="float32")[y]


class Model:
    """small keras-like wrapper so that the old notebooks keep working"""

    def __init__(self, *layers):
        self.net = nn.Sequential(*layers)

    def compile(self, optimizer, loss, metrics=()):
        self.optimizer = optimizer(self.net.parameters())
        self.loss = loss
        self.metrics = dict(metrics)

    def _run(self, x, y, batch_size, train):
        self.net.train(train)
        n = len(x)
        order = np.random.permutation(n) if train else np.arange(n)
        logs = {"loss": 0.0, **{k: 0.0 for k in self.metrics}}
        for i in range(0, n, batch_size):
            idx = order[i:i + batch_size]
            xb, y_true = torch.from_numpy(x[idx]), torch.from_numpy(y[idx])
            with torch.set_grad_enabled(train):
                y_pred = self.net(xb)
                loss = self.loss(y_pred, y_true)
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            logs["loss"] += loss.item() * len(idx) / n
            for name, fn in self.metrics.items():
                logs[name] += fn(y_true, y_pred.detach()).item() * len(idx) / n
        return logs

    def fit(self, x, y, epochs=1, batch_size=32, validation_data=None):
        history = []
        for epoch in range(1, epochs + 1):
            logs = self._run(x, y, batch_size, train=True)
            if validation_data is not None:
                val = self._run(*validation_data, batch_size, train=False)
                logs.update({"val_" + k: v for k, v in val.items()})
            history.append(logs)
            print(f"Epoch {epoch}/{epochs} - " + " - ".join(f"{k}: {v:.4f}" for k, v in logs.items()))
        return history

    def evaluate(self, x, y, batch_size=32):
        return self._run(x, y, batch_size, train=False)

    def predict(self, x):
        self.net.eval()
        with torch.no_grad():
            return torch.softmax(self.net(torch.from_numpy(x)), -1).numpy()


def categorical_accuracy(y_true, y_pred):
    return (y_true.argmax(-1) == y_pred.argmax(-1)).float().mean()


# penguins: bill length, bill depth, flipper length, body mass
np.random.seed(8)
torch.manual_seed(8)
means = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3730], [47.5, 15.0, 217, 5080]])
stds = np.array([[2.7, 1.2, 6.5, 460], [3.3, 1.1, 7.1, 380], [3.1, 1.0, 6.5, 500]])
y = np.random.choice(3, 340, p=[0.44, 0.2, 0.36])
x = (means[y] + np.random.randn(340, 4) * stds[y]).astype("float32")
x_train, x_test = x[:270], x[270:]
y_train, y_test = to_categorical(y[:270], 3), to_categorical(y[270:], 3)
mu, sd = x_train.mean(axis=0), x_train.std(axis=0)
x_train, x_test = (x_train - mu) / sd, (x_test - mu) / sd

model = Model(
    nn.Linear(4, 16),
    nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(16, 3),
)
model.compile(
    optimizer=lambda params: torch.optim.Adam(params, lr=0.01),
    loss=nn.CrossEntropyLoss(),
    metrics={"acc": categorical_accuracy},
)
model.fit(x_train, y_train, epochs=10, batch_size=32, validation_data=(x_test, y_test))
print(model.evaluate(x_test, y_test))
print(model.predict(x_test[:3]).round(3))
