import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self, num_classes=10):
        super(SmallCNN, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(64 * 8 * 8, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).view(x.size(0), -1))


class LinfPGDAttack:
    def __init__(self, predict, loss_fn, eps=8 / 255, nb_iter=7, eps_iter=2 / 255):
        self.predict, self.loss_fn = predict, loss_fn
        self.eps, self.nb_iter, self.eps_iter = eps, nb_iter, eps_iter

    def perturb(self, x, y):
        x, y = x.detach().clone(), y.detach().clone()
        delta = torch.zeros_like(x).uniform_(-self.eps, self.eps)
        delta.requires_grad_()
        for _ in range(self.nb_iter):
            outputs = self.predict(x + delta)
            loss = self.loss_fn(outputs, y)
            loss.backward()
            delta.data = delta.data + self.eps_iter * delta.grad.data.sign()
            delta.data = delta.data.clamp(-self.eps, self.eps)
            delta.data = (x + delta.data).clamp(0, 1) - x
            delta.grad.data.zero_()
        return (x + delta).detach()


def make_loader(n, seed, shuffle):
    g = torch.Generator().manual_seed(seed)
    return DataLoader(TensorDataset(torch.rand(n, 3, 32, 32, generator=g),
                                    torch.randint(0, 10, (n,), generator=g)), batch_size=32, shuffle=shuffle)


device = 'cuda' if torch.cuda.is_available() else 'cpu'
trainloader, testloader = make_loader(96, 0, True), make_loader(64, 1, False)
net = SmallCNN().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
adversary = LinfPGDAttack(net, F.cross_entropy)


def train(epoch):
    net.train()
    train_loss = 0
    for batch_idx, (inputs, targets) in enumerate(trainloader):
        inputs, targets = inputs.to(device), targets.to(device)
        inputs = adversary.perturb(inputs, targets)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    print('Epoch %d | Loss: %.3f' % (epoch, train_loss / (batch_idx + 1)))


def test(epoch):
    net.eval()
    correct = total = 0
    for batch_idx, (inputs, targets) in enumerate(testloader):
        inputs, targets = inputs.to(device), targets.to(device)
        adv_untargeted = adversary.perturb(inputs, targets)
        inputs = adv_untargeted
        outputs = net(inputs)
        _, predicted = outputs.max(1)
        total += targets.size(0)
        correct += predicted.eq(targets).sum().item()
    print('Epoch %d | Acc under attack: %.3f%%' % (epoch, 100. * correct / total))


for epoch in range(1):
    train(epoch)
    test(epoch)
