import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AutoEncoder(nn.Module):
    def __init__(self, d=40, z=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 24), nn.ELU(), nn.Linear(24, z))
        self.decoder = nn.Sequential(nn.Linear(z, 24), nn.ELU(), nn.Linear(24, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Classifier(nn.Module):
    def __init__(self, encoder, z=6, n_classes=3):
        super().__init__()
        self.encoder = encoder
        self.fc = nn.Linear(z, n_classes)

    def forward(self, x):
        return self.fc(torch.relu(self.encoder(x)))


def pretrain(ae, x, epochs=10):
    opt = torch.optim.Adam(ae.parameters(), lr=5e-3)
    loader = DataLoader(TensorDataset(x), batch_size=64, shuffle=True)
    for _ in range(epochs):
        for (xb,) in loader:
            loss = nn.functional.mse_loss(ae(xb), xb)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("pretraining mse", round(loss.item(), 4))


def main():
    torch.manual_seed(0)
    basis = torch.randn(6, 40)
    codes = torch.randn(640, 6)
    x = codes @ basis + 0.1 * torch.randn(640, 40)
    y = codes[:, :3].argmax(1)
    ae = AutoEncoder()
    pretrain(ae, x)

    # linear probe on the pretrained encoder
    clf = Classifier(ae.encoder)
    for param in clf.encoder.parameters():
        param.requires_grad = False
    optimizer = torch.optim.SGD(clf.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
    for epoch in range(4):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(clf(xb), yb)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = (clf(x[512:]).argmax(1) == y[512:]).float().mean().item()
        print(f"probe epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
