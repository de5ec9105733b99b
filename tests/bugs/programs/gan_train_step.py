import torch
import torch.nn as nn

Z_DIM = 20
N_CLASSES = 10


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.label_emb = nn.Embedding(N_CLASSES, 12)
        self.net = nn.Sequential(
            nn.Linear(Z_DIM + 12, 64),
            nn.ReLU(),
            nn.Linear(64, 784),
            nn.Tanh(),
        )

    def forward(self, z, y):
        cond = y.float().unsqueeze(1)
        return self.net(torch.cat([z, cond], dim=1))


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(784, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1), nn.Sigmoid()
        )

    def forward(self, x):
        return self.net(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.d = G(), D()
        self.criterion = nn.BCELoss()

    def forward(self, z, y):
        fake = self.g(z, y)
        real_label = z.new_ones(z.size(0))
        loss_g = self.criterion(self.d(fake), real_label)
        return loss_g, fake


def example_inputs():
    return torch.randn(6, Z_DIM), torch.arange(6)
