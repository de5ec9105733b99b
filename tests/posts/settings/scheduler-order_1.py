# line 16: the rate is set for the next step before the optimizer has made this one
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


class Engine:
    def __init__(self, net, loader, epochs, peak):
        self.net, self.loader, self.epochs = net, loader, epochs
        self.opt = torch.optim.SGD(net.parameters(), lr=peak, momentum=0.9)
        self.cycle = OneCycleLR(self.opt, max_lr=peak, total_steps=epochs * len(loader) + 1)
        self.rates = []

    def before_batch(self):
        self.cycle.step()
        self.rates.append(self.cycle.get_last_lr()[0])

    def batch(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    def run(self):
        for epoch in range(self.epochs):
            self.net.train()
            for x, y in self.loader:
                self.before_batch()
                loss = self.batch(x, y)
            print(epoch, loss, self.rates[-1])


class EyeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 3, 2), nn.Conv2d(8, 16, 3, 2)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc(self.c2(self.c1(x).relu()).relu().mean((2, 3)))


torch.manual_seed(82)
side = torch.randint(2, (160,))
eye = torch.randn(160, 1, 16, 16) * 0.4
eye[side == 1, :, :, 8:] += 1
Engine(EyeNet(), DataLoader(TensorDataset(eye, side), 20, shuffle=True), 3, 0.1).run()
