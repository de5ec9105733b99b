# line 19: the cosine is planned for the number of epochs (T_max) but stepped with each batch
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Fit:
    def __init__(self, net, loader, max_epochs, lr=0.1):
        self.net, self.loader, self.max_epochs = net, loader, max_epochs
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=max_epochs, eta_min=1e-4)

    def training_step(self, batch):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item()

    def run(self):
        for epoch in range(self.max_epochs):
            self.net.train()
            values = [self.training_step(b) for b in self.loader]
            print(epoch, sum(values) / len(values), self.sched.get_last_lr()[0])


class Mixer(nn.Module):
    def __init__(self, tokens=6, d=8, classes=3):
        super().__init__()
        self.across = nn.Linear(tokens, tokens)
        self.within = nn.Linear(d, d)
        self.cls = nn.Linear(d, classes)

    def forward(self, x):
        x = x + self.across(x.transpose(1, 2)).relu().transpose(1, 2)
        x = x + self.within(x).relu()
        return self.cls(x.mean(1))


torch.manual_seed(0)
x = torch.randn(240, 6, 8)
y = x.mean(1)[:, :3].argmax(1)
Fit(Mixer(), DataLoader(TensorDataset(x, y), 24, shuffle=True), max_epochs=8).run()
