import argparse
import os

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description='VAE on bars')
parser.add_argument('--batch-size', type=int, default=48)
parser.add_argument('--epochs', type=int, default=4)
parser.add_argument('--warmup-steps', type=int, default=30)
parser.add_argument('--seed', type=int, default=1)
parser.add_argument('--log-interval', type=int, default=4)
args = parser.parse_args()
torch.manual_seed(args.seed)
SIDE = 10


class Bars(torch.utils.data.Dataset):
    def __init__(self, n):
        self.rows = torch.rand(n, SIDE) < 0.2
        self.cols = torch.rand(n, SIDE) < 0.2

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return (self.rows[i][:, None] | self.cols[i][None, :]).float().unsqueeze(0), 0


train_loader = torch.utils.data.DataLoader(Bars(500), batch_size=args.batch_size, shuffle=True)
test_loader = torch.utils.data.DataLoader(Bars(101), batch_size=args.batch_size)


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.fc1 = nn.Linear(SIDE * SIDE, 80)
        self.fc21 = nn.Linear(80, z)
        self.fc22 = nn.Linear(80, z)
        self.fc3 = nn.Linear(z, 80)
        self.fc4 = nn.Linear(80, SIDE * SIDE)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, SIDE * SIDE))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=3e-3)
global_step = 0


def loss_function(recon_x, x, mu, logvar, beta):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, SIDE * SIDE), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + beta * KLD, KLD.detach()


def train(epoch):
    global global_step
    model.train()
    train_loss = train_kld = 0
    for batch_idx, (data, _) in enumerate(train_loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        beta = min(1.0, global_step / args.warmup_steps)
        loss, kld = loss_function(recon_batch, data, mu, logvar, beta)
        loss.backward()
        train_loss += loss.item()
        train_kld += kld
        optimizer.step()
        global_step += 1
        if batch_idx % args.log_interval == 0:
            print('Train Epoch: {} [{}/{}]\tbeta {:.2f}\tLoss: {:.4f}'.format(
                epoch, batch_idx * len(data), len(train_loader.dataset), beta, loss.item() / len(data)))
    print('====> Epoch: {} Average loss: {:.4f} KL: {:.4f}'.format(
        epoch, train_loss / len(train_loader.dataset), train_kld / len(train_loader.dataset)))


def test(epoch):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, (data, _) in enumerate(test_loader):
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar, 1.0)[0].item()
            if i == len(test_loader) - 1:
                n = min(data.size(0), 8)
                comparison = torch.cat([data[:n], recon_batch.view(data.size(0), 1, SIDE, SIDE)[:n]])
                torch.save(comparison, 'results/reconstruction_%d.pt' % epoch)
    print('====> Test set loss: {:.4f}'.format(test_loss / len(test_loader.dataset)))


if __name__ == "__main__":
    os.makedirs('results', exist_ok=True)
    for epoch in range(1, args.epochs + 1):
        train(epoch)
        test(epoch)
        with torch.no_grad():
            sample = model.decode(torch.randn(16, 8))
            torch.save(sample.view(16, 1, SIDE, SIDE), 'results/sample_%d.pt' % epoch)
