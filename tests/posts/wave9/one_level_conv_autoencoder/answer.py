import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

X = torch.rand(256, 1, 16, 16)


class AutoEncoder(nn.Module):
    """g has the same hyperparameters as f, except for the channels"""

    def __init__(self, channels=1, hidden=20, kernel_size=3, padding=1, stride=2):
        super().__init__()
        self.f = nn.Conv2d(channels, hidden, kernel_size=kernel_size, padding=padding, stride=stride)
        self.act = nn.ReLU()
        self.g = nn.ConvTranspose2d(hidden, channels, kernel_size=kernel_size, padding=padding, stride=stride, output_padding=1)

    def forward(self, X):
        return self.g(self.act(self.f(X)))


def train(net, train_iter, num_epochs, lr, device):
    net.to(device)
    trainer = torch.optim.Adam(net.parameters(), lr=lr)
    loss = nn.MSELoss()
    for epoch in range(num_epochs):
        metric = [0.0, 0]
        for (batch,) in train_iter:
            batch = batch.to(device)
            noisy = batch + 0.1 * torch.randn_like(batch)
            trainer.zero_grad()
            l = loss(net(noisy), batch)
            l.backward()
            trainer.step()
            metric[0] += l.item() * len(batch)
            metric[1] += len(batch)
        print(f'epoch {epoch + 1}, loss {metric[0] / metric[1]:.4f}')


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
train_iter = DataLoader(TensorDataset(X), batch_size=32, shuffle=True)
train(AutoEncoder(), train_iter, num_epochs=3, lr=0.005, device=device)
