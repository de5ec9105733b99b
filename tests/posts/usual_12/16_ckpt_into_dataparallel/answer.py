# Finetune the depth-of-cut regressor on the 4-GPU box.
# Pretraining was done on a laptop (single device), see pretrain().
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CKPT = "pretrained.pth"


class SignalRegressor(nn.Module):
    def __init__(self, channels=3, width=24):
        super().__init__()
        self.conv1 = nn.Conv1d(channels, width, 7, padding=3)
        self.conv2 = nn.Conv1d(width, width * 2, 5, stride=2, padding=2)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.fc = nn.Linear(width * 2, 1)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(self.pool(x).squeeze(-1)).squeeze(-1)


def machine_data(n, gain, seed):
    g = torch.Generator().manual_seed(seed)
    depth = torch.rand(n, generator=g) * 2
    noise = torch.randn(n, 3, 128, generator=g)
    x = noise * (0.3 + gain * depth)[:, None, None]
    return TensorDataset(x, depth)


def fit(model, dataset, epochs, lr, device):
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print("  epoch %d mse %.4f" % (epoch, total / len(dataset)))


def pretrain(device):
    model = SignalRegressor().to(device)
    fit(model, machine_data(512, 1.0, 0), 3, 3e-3, device)
    torch.save({"state_dict": model.state_dict(), "width": 24}, CKPT)


def load_weights(model, path, device):
    checkpoint = torch.load(path, map_location=device)
    model.module.load_state_dict(checkpoint["state_dict"])
    print("loaded", path)
    return model


def finetune(device):
    model = nn.DataParallel(SignalRegressor().to(device))
    model = load_weights(model, CKPT, device)
    fit(model, machine_data(192, 0.7, 1), 3, 1e-3, device)

    model.eval()
    test = machine_data(64, 0.7, 2)
    with torch.no_grad():
        x, y = test.tensors
        mae = (model(x.to(device)).cpu() - y).abs().mean().item()
    print("test MAE %.3f mm" % mae)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if not os.path.exists(CKPT):
        pretrain(device)
    finetune(device)
