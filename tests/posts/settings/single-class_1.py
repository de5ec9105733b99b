# line 32: argmax over the only score of a churn model is always 0, so the predicted class is always "stays"
import pandas as pd
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(13)
frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "calls": rng.poisson(4, 400), "bill": rng.gamma(2, 20, 400)})
frame["churn"] = ((frame.calls > 5) | (frame.bill > 70)).astype(int)
cols = ["age", "calls", "bill"]
values = ((frame[cols] - frame[cols].mean()) / frame[cols].std()).to_numpy(np.float32)
X, y = torch.tensor(values), torch.tensor(frame["churn"].to_numpy(np.float32))


class Churn(nn.Module):
    def __init__(self, n_features, hidden=(16, 8)):
        super().__init__()
        blocks, last = [], n_features
        for h in hidden:
            blocks.extend([nn.Linear(last, h), nn.BatchNorm1d(h), nn.SiLU()])
            last = h
        self.trunk = nn.Sequential(*blocks)
        self.score = nn.Linear(last, 1)

    def forward(self, x):
        return self.score(self.trunk(x))

    @torch.no_grad()
    def predict(self, x):
        self.eval()
        probability = torch.sigmoid(self(x))
        return torch.max(probability, dim=1).indices


torch.manual_seed(13)
clf = Churn(len(cols))
opt = torch.optim.Adam(clf.parameters(), 0.01)
bce = nn.BCEWithLogitsLoss()
tr, te = torch.arange(300), torch.arange(300, 400)
for epoch in range(10):
    clf.train()
    for i in tr[torch.randperm(300)].split(50):
        opt.zero_grad()
        bce(clf(X[i]).squeeze(1), y[i]).backward()
        opt.step()
guess = clf.predict(X[te])
print("accuracy", (guess == y[te]).float().mean().item(), "churners found", int(guess.sum()))
