# VAE after the PyTorch examples repository, on made-up 16x16 "glyphs"
import argparse

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F
from torchvision import transforms

parser = argparse.ArgumentParser(description='VAE glyph example')
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--epochs', type=int, default=5)
parser.add_argument('--seed', type=int, default=1)
parser.add_argument('--log-interval', type=int, default=5)
args = parser.parse_args()
torch.manual_seed(args.seed)


class Glyphs(torch.utils.data.Dataset):
    """White bars and boxes on black, uint8 images 16x16."""

    def __init__(self, n, seed, transform=None):
        g = torch.Generator().manual_seed(seed)
        self.images = torch.zeros(n, 16, 16, dtype=torch.uint8)
        for im in self.images:
            r, c = torch.randint(1, 9, (2,), generator=g).tolist()
            h, w = torch.randint(3, 7, (2,), generator=g).tolist()
            im[r:r + h, c:c + w] = 255
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = self.images[i].numpy()[:, :, None]
        return self.transform(img) if self.transform else img


transform = transforms.Compose([
    transforms.ToTensor(),
])
train_loader = torch.utils.data.DataLoader(Glyphs(1000, 0, transform), batch_size=args.batch_size, shuffle=True)
test_loader = torch.utils.data.DataLoader(Glyphs(200, 1, transform), batch_size=args.batch_size)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(256, 128)
        self.fc21 = nn.Linear(128, 8)
        self.fc22 = nn.Linear(128, 8)
        self.fc3 = nn.Linear(8, 128)
        self.fc4 = nn.Linear(128, 256)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 256))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 256), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, args.epochs + 1):
    model.train()
    train_loss = 0
    for batch_idx, data in enumerate(train_loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print('Train Epoch: {} [{}/{}]\tLoss: {:.4f}'.format(
                epoch, batch_idx * args.batch_size, len(train_loader.dataset), loss.item() / len(data)))
    print('====> Epoch: {} Average loss: {:.4f}'.format(epoch, train_loss / len(train_loader.dataset)))

    model.eval()
    test_loss = 0
    with torch.no_grad():
        for data in test_loader:
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item()
    print('====> Test set loss: {:.4f}'.format(test_loss / len(test_loader.dataset)))
