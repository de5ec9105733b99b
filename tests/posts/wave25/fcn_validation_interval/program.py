import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_CLASS = 5
cuda = torch.cuda.is_available()


class FCN(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.pool1 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.conv2 = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.pool2 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.fc6 = nn.Conv2d(32, 64, 3, padding=1)
        self.drop6 = nn.Dropout2d(0.5)
        self.score_fr = nn.Conv2d(64, n_class, 1)

    def forward(self, x):
        h = self.pool1(self.conv1(x))
        h = self.pool2(self.conv2(h))
        h = self.drop6(F.relu(self.fc6(h)))
        h = self.score_fr(h)
        return F.interpolate(h, size=x.shape[2:], mode="bilinear", align_corners=False)


class Trainer:
    def __init__(self, model, optimizer, train_loader, val_loader, max_iter, interval_validate=None):
        self.model = model
        self.optim = optimizer
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.max_iter = max_iter
        self.interval_validate = interval_validate or len(train_loader)
        self.epoch = 0
        self.iteration = 0
        self.best_acc = 0.0

    def validate(self):
        self.model.eval()
        val_loss, correct, pixels = 0.0, 0, 0
        with torch.no_grad():
            for data, target in self.val_loader:
                if cuda:
                    data, target = data.cuda(), target.cuda()
                score = self.model(data)
                val_loss += F.cross_entropy(score, target).item()
                correct += (score.argmax(1) == target).sum().item()
                pixels += target.numel()
        acc = correct / pixels
        self.best_acc = max(acc, self.best_acc)
        print(f"iter {self.iteration}: val loss {val_loss / len(self.val_loader):.4f}, acc {acc:.4f}")

    def train_epoch(self):
        self.model.train()
        losses = []
        for data, target in self.train_loader:
            self.iteration += 1
            if self.iteration % self.interval_validate == 0:
                self.validate()
            if cuda:
                data, target = data.cuda(), target.cuda()
            self.optim.zero_grad()
            score = self.model(data)
            loss = F.cross_entropy(score, target)
            if np.isnan(loss.item()):
                raise ValueError("loss is nan while training")
            loss.backward()
            self.optim.step()
            losses.append(loss.item())
            if self.iteration >= self.max_iter:
                break
        print(f"epoch {self.epoch}: train loss {np.mean(losses):.4f}")

    def train(self):
        while self.iteration < self.max_iter:
            self.train_epoch()
            self.epoch += 1


def make_scenes(n, size=32):
    labels = torch.randint(0, N_CLASS, (n, size // 8, size // 8))
    labels = labels.repeat_interleave(8, dim=1).repeat_interleave(8, dim=2)
    palette = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]).float()
    images = palette[labels].permute(0, 3, 1, 2) + 0.2 * torch.randn(n, 3, size, size)
    return TensorDataset(images, labels)


if __name__ == "__main__":
    torch.manual_seed(1337)
    train_loader = DataLoader(make_scenes(160), batch_size=4, shuffle=True)
    val_loader = DataLoader(make_scenes(32), batch_size=8)
    model = FCN(N_CLASS)
    if cuda:
        model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    trainer = Trainer(model, optimizer, train_loader, val_loader, max_iter=120, interval_validate=10)
    trainer.train()
    print(f"best accuracy: {trainer.best_acc:.4f}")
