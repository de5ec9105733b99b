# line 9: R2 compares the (n, 1) array of predictions with the (n,) array of targets: n x n residuals
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def r2(y_true, y_pred):
    ss_res = np.sum((y_true - y_pred) ** 2)
    ss_tot = np.sum((y_true - y_true.mean()) ** 2)
    return 1 - ss_res / ss_tot


class Solubility(nn.Module):
    def __init__(self, bits=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(bits, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, fp):
        return self.net(fp)


def predict(model, loader):
    model.eval()
    out = []
    with torch.no_grad():
        for fp, _ in loader:
            out.append(model(fp).cpu().numpy())
    return np.concatenate(out)


torch.manual_seed(0)
fingerprints = (torch.rand(400, 32) < 0.3).float()
logs = fingerprints @ torch.randn(32) + 0.1 * torch.randn(400)
train = TensorDataset(fingerprints[:300], logs[:300])
test = TensorDataset(fingerprints[300:], logs[300:])
model = Solubility()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    model.train()
    for fp, v in DataLoader(train, 30, shuffle=True):
        loss = nn.functional.mse_loss(model(fp).squeeze(1), v)
        opt.zero_grad()
        loss.backward()
        opt.step()
pred = predict(model, DataLoader(test, 50))
print("R2", r2(test.tensors[1].numpy(), pred))
