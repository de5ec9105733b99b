# line 46: the recall on the test recordings is made of tp, counted in training; tp_test is counted and not used
import numpy as np
import torch
from torch import nn


def heartbeats(n, seed):
    r = np.random.RandomState(seed)
    t = np.linspace(-1, 1, 40)
    ill = r.rand(n) < 0.3
    width = np.where(ill, 0.25, 0.15)[:, None] + 0.03 * r.randn(n, 1)
    wave = np.exp(-((t / width) ** 2)) + 0.1 * r.randn(n, 40)
    return torch.tensor(wave[:, None], dtype=torch.float32), torch.tensor(ill, dtype=torch.float32)


def build():
    return nn.Sequential(
        nn.Conv1d(1, 8, 7, stride=2), nn.ReLU(), nn.Conv1d(8, 8, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(56, 1)
    )


def fit_and_test(net, train, test, epochs=5, size=40):
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    objective = nn.BCEWithLogitsLoss()
    waves, ill = train
    report = []
    for _ in range(epochs):
        net.train()
        tp, positives = 0, 0
        for rows in torch.randperm(len(waves)).split(size):
            optimizer.zero_grad()
            logit = net(waves[rows]).squeeze(1)
            objective(logit, ill[rows]).backward()
            optimizer.step()
            tp += int(((logit > 0) & (ill[rows] == 1)).sum())
            positives += int(ill[rows].sum())
        report.append({"recall": tp / positives})

        net.eval()
        tp_test, positives_test = 0, 0
        for wave, truth in zip(test[0].split(size), test[1].split(size)):
            with torch.no_grad():
                logit = net(wave).squeeze(1)
            tp_test += int(((logit > 0) & (truth == 1)).sum())
            positives_test += int(truth.sum())
        report[-1]["recall_test"] = tp_test / positives_test
    return report


torch.manual_seed(0)
for row in fit_and_test(build(), heartbeats(500, 1), heartbeats(160, 2)):
    print(row)
