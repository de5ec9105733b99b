import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


class Autoencoder(nn.Module):
    def __init__(self, d=32, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, code))
        self.decoder = nn.Sequential(nn.Linear(code, 24), nn.ReLU(), nn.Linear(24, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class CodeClassifier(nn.Module):
    def __init__(self, d=32, code=8, n_classes=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, code))
        self.classifier = nn.Linear(code, n_classes)

    def forward(self, x):
        return self.classifier(torch.relu(self.encoder(x)))


def pretrain(x, path, device):
    ae = Autoencoder().to(device)
    ae.apply(init_weights)
    opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
    for epoch in range(40):
        for (xb,) in DataLoader(TensorDataset(x), batch_size=64, shuffle=True):
            xb = xb.to(device)
            loss = nn.functional.mse_loss(ae(xb), xb)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"pretraining loss {loss.item():.4f}")
    torch.save(ae.encoder.state_dict(), path)


def finetune(x, y, path, device):
    model = CodeClassifier().to(device)
    model.encoder.load_state_dict(torch.load(path, map_location=device))
    model.apply(init_weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(x[:100], y[:100]), batch_size=20, shuffle=True)
    for epoch in range(12):
        model.train()
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb.to(device)), yb.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x[100:].to(device)).argmax(1).cpu() == y[100:]).float().mean().item()
    print(f"fine-tuning loss {loss.item():.4f} test accuracy {acc:.3f}")


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    code = torch.randn(600, 4)
    x = code @ torch.randn(4, 32) + 0.1 * torch.randn(600, 32)
    y = code.argmax(dim=1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "encoder.pt")
        pretrain(x, path, device)
        finetune(x, y, path, device)


if __name__ == "__main__":
    main()
