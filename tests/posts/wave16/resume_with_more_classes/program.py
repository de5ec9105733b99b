import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


def create_cnn(n_classes):
    body = nn.Sequential(conv_block(3, 16), conv_block(16, 32), conv_block(32, 64))
    head = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(64), nn.Dropout(0.25),
        nn.Linear(64, 128), nn.ReLU(), nn.BatchNorm1d(128), nn.Dropout(0.5),
        nn.Linear(128, n_classes))
    return nn.Sequential(body, head)


class PetData:
    def __init__(self, n_classes, per_class=12, size=24, seed=6):
        g = torch.Generator().manual_seed(seed)
        colours = torch.rand(64, 3, generator=g)
        self.classes = ['breed_%02d' % i for i in range(n_classes)]
        self.y = torch.arange(n_classes).repeat_interleave(per_class)
        noise = 0.15 * torch.randn(len(self.y), 3, size, size, generator=g)
        self.x = colours[self.y][:, :, None, None] + noise

    @property
    def c(self):
        return len(self.classes)

    def batches(self, bs=32):
        for idx in torch.randperm(len(self.y)).split(bs):
            yield self.x[idx], self.y[idx]


class Learner:
    def __init__(self, data, model, path):
        self.data, self.model, self.path = data, model, path

    def fit(self, epochs, lr=3e-3):
        opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        for epoch in range(epochs):
            self.model.train()
            for xb, yb in self.data.batches():
                loss = F.cross_entropy(self.model(xb), yb)
                opt.zero_grad()
                loss.backward()
                opt.step()
            print('  epoch %d loss %.3f error %.2f' % (epoch, loss.item(), self.error_rate()))

    @torch.no_grad()
    def error_rate(self):
        self.model.eval()
        return (self.model(self.data.x).argmax(1) != self.data.y).float().mean().item()

    def save(self, name):
        torch.save({'model': self.model.state_dict()}, os.path.join(self.path, name + '.pth'))

    def load(self, name):
        state = torch.load(os.path.join(self.path, name + '.pth'))['model']
        self.model.load_state_dict(state)
        return self


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as path:
        print('23 breeds')
        data = PetData(23)
        learn = Learner(data, create_cnn(data.c), path)
        learn.fit(4)
        learn.save('stage-1')

        print('three more breeds')
        data = PetData(26)
        learn = Learner(data, create_cnn(data.c), path)
        learn.load('stage-1')
        learn.fit(4)


if __name__ == '__main__':
    main()
