import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn

X, y = make_classification(n_samples=900, n_features=20, n_informative=8, n_classes=3, random_state=0)
X_tr, X_te, y_tr, y_te = train_test_split(X.astype(np.float32), y, test_size=0.25, random_state=0)

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(20, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Linear(64, 3),
)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
xt, yt = torch.from_numpy(X_tr), torch.from_numpy(y_tr)

for epoch in range(15):
    model.train()
    for idx in torch.randperm(len(xt)).split(64):
        loss = nn.functional.cross_entropy(model(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()

model.eval()
with torch.no_grad():
    y_pred = torch.softmax(model(torch.from_numpy(X_te)), dim=1).numpy()

print("confidence", y_pred.max(axis=1).mean().round(3))
print("accuracy", accuracy_score(y_te, y_pred))
