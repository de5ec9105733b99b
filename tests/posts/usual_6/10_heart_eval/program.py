import io

import numpy as np
import pandas as pd
import torch
import torch.nn as nn

np.random.seed(5)
torch.manual_seed(5)


def fake_csv(n=600):
    age = np.random.randint(30, 80, n)
    chol = np.random.normal(240, 45, n).round()
    thalach = np.random.normal(150, 22, n).round()
    oldpeak = np.random.gamma(1.2, 0.9, n).round(1)
    z = 0.05 * (age - 55) + 0.008 * (chol - 240) - 0.03 * (thalach - 150) + 0.6 * (oldpeak - 1)
    target = (np.random.rand(n) < 1 / (1 + np.exp(-z))).astype(int)
    frame = pd.DataFrame(dict(age=age, chol=chol, thalach=thalach, oldpeak=oldpeak, target=target))
    return io.StringIO(frame.to_csv(index=False))


df = pd.read_csv(fake_csv())
X = df.drop("target", axis=1).values.astype("float32")
y = df["target"].values.astype("float32").reshape(-1, 1)

split = int(0.75 * len(X))
mu, sd = X[:split].mean(axis=0), X[:split].std(axis=0)
X = (X - mu) / sd
X_train, X_test = torch.from_numpy(X[:split]), torch.from_numpy(X[split:])
y_train, y_test = torch.from_numpy(y[:split]), torch.from_numpy(y[split:])


class HeartNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 16)
        self.act = nn.Tanh()
        self.output = nn.Linear(16, 1)

    def forward(self, x):
        return torch.sigmoid(self.output(self.act(self.hidden(x))))


def confusion(y_true, y_pred):
    tp = int(np.sum((y_true == 1) & (y_pred == 1)))
    fp = int(np.sum((y_true == 0) & (y_pred == 1)))
    fn = int(np.sum((y_true == 1) & (y_pred == 0)))
    tn = int(np.sum((y_true == 0) & (y_pred == 0)))
    return tp, fp, fn, tn


def auc(y_true, score):
    ranks = pd.Series(score).rank().to_numpy()
    n_pos = y_true.sum()
    n_neg = len(y_true) - n_pos
    return (ranks[y_true == 1].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


def report(y_true, score, threshold=0.5):
    y_true = y_true.numpy().ravel()
    score = score.numpy().ravel()
    tp, fp, fn, tn = confusion(y_true, (score > threshold).astype(int))
    print(f"accuracy  {(tp + tn) / len(y_true):.3f}")
    print(f"precision {tp / max(tp + fp, 1):.3f}")
    print(f"recall    {tp / max(tp + fn, 1):.3f}")
    print(f"auc       {auc(y_true, score):.3f}")


model = HeartNet()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(150):
    y_hat = model(X_train)
    loss = criterion(y_hat, y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print("epoch", epoch, "loss", round(loss.item(), 4))

model.eval()
y_score = model(X_test)
report(y_test, y_score)
