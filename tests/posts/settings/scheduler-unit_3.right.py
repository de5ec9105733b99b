# line 23: OneCycleLR is planned for epochs x steps_per_epoch steps, but on_epoch_end steps it once for each epoch
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR


class Experiment:
    epochs = 6
    max_lr = 0.02

    def __init__(self, data):
        self.loader = torch.utils.data.DataLoader(data, batch_size=25, shuffle=True)
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=self.max_lr, momentum=0.9)
        self.schedule = OneCycleLR(self.optimizer, max_lr=self.max_lr, epochs=self.epochs, steps_per_epoch=len(self.loader))

    def on_batch_end(self):
        self.schedule.step()
        self.updates += 1

    def on_epoch_end(self, epoch, loss):
        rate = self.optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch} after {self.updates} updates: loss {loss:.3f} lr {rate:.5f}")

    def run(self):
        self.updates = 0
        for epoch in range(self.epochs):
            total = 0.0
            self.net.train()
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.on_batch_end()
                total += loss.item() * len(y)
            self.on_epoch_end(epoch, total / len(self.loader.dataset))


torch.manual_seed(16)
points = torch.randn(400, 12)
classes = (points[:, 0] > 0).long() * 2 + (points[:, 1] > 0).long()
Experiment(torch.utils.data.TensorDataset(points, classes)).run()
