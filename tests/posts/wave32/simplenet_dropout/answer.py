import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class SlimNet(nn.Module):
    def __init__(self, classes=10):
        super(SlimNet, self).__init__()
        self.features = self._make_layers()
        self.classifier = nn.Linear(64, classes)

    def forward(self, x):
        out = self.features(x)

        # Global Max Pooling
        out = F.max_pool2d(out, kernel_size=out.size()[2:])
        out = F.dropout2d(out, 0.3, training=self.training)

        out = out.view(out.size(0), -1)
        return self.classifier(out)

    def _block(self, cin, cout):
        return [
            nn.Conv2d(cin, cout, kernel_size=3, padding=1),
            nn.BatchNorm2d(cout, momentum=0.05),
            nn.ReLU(inplace=True),
        ]

    def _make_layers(self):
        layers = self._block(3, 16) + self._block(16, 32)
        layers += [nn.MaxPool2d(2), nn.Dropout2d(p=0.1)]
        layers += self._block(32, 32) + self._block(32, 64)
        layers += [nn.MaxPool2d(2), nn.Dropout2d(p=0.1)]
        model = nn.Sequential(*layers)
        for m in model.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight, gain=nn.init.calculate_gain("relu"))
        return model


def make_split(n, prototypes):
    y = torch.randint(0, 10, (n,))
    x = prototypes[y] + 0.8 * torch.randn(n, 3, 16, 16)
    return TensorDataset(x, y)


def train(model, loader, criterion, optimizer, epoch):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
    print("Epoch %d train loss %.4f" % (epoch, total / len(loader.dataset)))


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    correct, total = 0, 0.0
    for x, y in loader:
        out = model(x)
        total += criterion(out, y).item() * x.size(0)
        correct += (out.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    print("  val loss %.4f top1 %.2f%%" % (total / n, 100.0 * correct / n))
    return correct / n


def main():
    torch.manual_seed(3)
    prototypes = torch.randn(10, 3, 16, 16)
    train_loader = DataLoader(make_split(512, prototypes), batch_size=64, shuffle=True)
    val_loader = DataLoader(make_split(256, prototypes), batch_size=64)

    model = SlimNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adadelta(model.parameters(), lr=0.1, rho=0.9, eps=1e-3, weight_decay=0.001)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3], gamma=0.1)

    best = 0
    for epoch in range(4):
        train(model, train_loader, criterion, optimizer, epoch)
        acc = validate(model, val_loader, criterion)
        scheduler.step()
        if acc > best:
            best = acc
            state = {k: v.clone() for k, v in model.state_dict().items()}

    print("==> best model")
    model.load_state_dict(state)
    for _ in range(3):
        validate(model, val_loader, criterion)


if __name__ == "__main__":
    main()
