import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, d_in=784, d_hidden=128, d_latent=16):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc_mu = nn.Linear(d_hidden, d_latent)
        self.fc_logvar = nn.Linear(d_hidden, d_latent)
        self.fc3 = nn.Linear(d_latent, d_hidden)
        self.fc4 = nn.Linear(d_hidden, d_in)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def elbo_loss(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x.view(-1, 784), reduction="sum")
    kld = -0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def main():
    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    strokes = (torch.rand(640, 1, 28, 28) < 0.2).float()
    train_loader = DataLoader(TensorDataset(strokes[:512]), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(strokes[512:]), batch_size=64)
    model = VAE().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 6):
        model.train()
        train_loss = 0.0
        for (data,) in train_loader:
            data = data.to(device)
            optimizer.zero_grad()
            recon, mu, logvar = model(data)
            loss = elbo_loss(recon, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        model.eval()
        test_loss = 0.0
        with torch.no_grad():
            for (data,) in test_loader:
                data = data.to(device)
                recon, mu, logvar = model(data)
                test_loss += elbo_loss(recon, data, mu, logvar).item()
        print(f"Epoch {epoch} train {train_loss / 512:.3f} test {test_loss / 128:.3f}")
    with torch.no_grad():
        sample = model.decode(torch.randn(16, 16, device=device))
    print("sample mean", sample.mean().item())


if __name__ == "__main__":
    main()
