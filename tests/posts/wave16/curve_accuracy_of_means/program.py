import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class FlowerDataset(Dataset):
    """four measurements of a flower and its kind"""

    def __init__(self, x, y):
        self.x = torch.from_numpy(x)
        self.y = torch.from_numpy(y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.y)


def load_flowers(seed=2):
    rng = np.random.default_rng(seed)
    means = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    stds = np.array([[0.35, 0.38, 0.17, 0.1], [0.5, 0.3, 0.47, 0.2], [0.6, 0.3, 0.55, 0.27]])
    y = np.repeat(np.arange(3), 50)
    x = rng.normal(means[y], stds[y])
    order = rng.permutation(len(y))
    return x[order].astype(np.float32), y[order].astype(np.int64)


class MLP(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.layer1 = nn.Linear(input_size, hidden_size)
        self.layer2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        return self.layer2(x)


def fit(model, train_dl, loss_fn, optimizer, num_epochs):
    loss_hist = [0] * num_epochs
    accuracy_hist = [0] * num_epochs
    for epoch in range(num_epochs):
        for x_batch, y_batch in train_dl:
            pred = model(x_batch)
            loss = loss_fn(pred, y_batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_hist[epoch] += loss.item() * y_batch.size(0)
            hits = (pred.argmax(dim=1) == y_batch).float()
            accuracy_hist[epoch] += hits.mean().item()
        loss_hist[epoch] /= len(train_dl.dataset)
        accuracy_hist[epoch] /= len(train_dl.dataset)
    return loss_hist, accuracy_hist


def sparkline(values, width=40):
    step = max(1, len(values) // width)
    marks = ' .:-=+*#%@'
    return ''.join(marks[min(9, int(v * 10))] for v in values[::step])


if __name__ == '__main__':
    torch.manual_seed(1)
    x, y = load_flowers()
    x_train, x_test, y_train, y_test = x[:100], x[100:], y[:100], y[100:]
    mean, std = x_train.mean(axis=0), x_train.std(axis=0)

    train_ds = FlowerDataset((x_train - mean) / std, y_train)
    train_dl = DataLoader(train_ds, batch_size=2, shuffle=True)

    model = MLP(4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    loss_hist, accuracy_hist = fit(model, train_dl, nn.CrossEntropyLoss(), optimizer, num_epochs=60)

    print('training loss     ', sparkline(loss_hist))
    print('training accuracy ', sparkline(accuracy_hist))
    print('last epoch: loss %.3f accuracy %.3f' % (loss_hist[-1], accuracy_hist[-1]))

    with torch.no_grad():
        pred = model(torch.from_numpy((x_test - mean) / std)).argmax(dim=1).numpy()
    print('test accuracy %.3f' % (pred == y_test).mean())
