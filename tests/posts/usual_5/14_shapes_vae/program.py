import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import Dataset, DataLoader


class ShapesDataset(Dataset):
    """28x28 gray images of filled rectangles and discs"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(28.), torch.arange(28.), indexing='ij')
        self.images = torch.zeros(n, 1, 28, 28)
        for i in range(n):
            cy, cx, r = torch.rand(3, generator=g) * torch.tensor([8., 8., 4.]) + torch.tensor([10., 10., 4.])
            if i % 2:
                inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
            else:
                inside = ((yy - cy).abs() < r) & ((xx - cx).abs() < r)
            self.images[i, 0] = inside.float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return self.images[idx], idx % 2


class VAE(nn.Module):
    def __init__(self, latent=8):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(784, 200)
        self.fc21 = nn.Linear(200, latent)
        self.fc22 = nn.Linear(200, latent)
        self.fc3 = nn.Linear(latent, 200)
        self.fc4 = nn.Linear(200, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_loader = DataLoader(ShapesDataset(600, seed=1), batch_size=64, shuffle=True)
test_loader = DataLoader(ShapesDataset(128, seed=2), batch_size=64, shuffle=False)
model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(train_loader):
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print('====> Epoch: {} Average loss: {:.4f}'.format(epoch, train_loss / len(train_loader.dataset)))


def reconstruction_error():
    model.eval()
    total = 0.0
    with torch.no_grad():
        for data, _ in test_loader:
            data = data.to(device)
            recon = model(data)
            err = (recon.view_as(data) - data).pow(2).flatten(1).mean(dim=1)
            total += err.sum().item()
    return total / len(test_loader.dataset)


for epoch in range(1, 6):
    train(epoch)
print('test reconstruction error: {:.4f}'.format(reconstruction_error()))
with torch.no_grad():
    sample = model.decode(torch.randn(16, 8).to(device)).cpu().view(16, 1, 28, 28)
print('mean intensity of the samples: {:.3f}'.format(sample.mean().item()))
