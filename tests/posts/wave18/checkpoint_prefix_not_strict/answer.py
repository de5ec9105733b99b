import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self, in_dim=20, hidden=64, classes=5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(in_dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                                    nn.Linear(hidden, hidden), nn.ReLU())
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.classifier(self.layers(x))


class LitClassifier(nn.Module):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.lr = lr
        self.model = Backbone()
        self.loss = nn.CrossEntropyLoss()

    def training_step(self, batch):
        x, y = batch
        return self.loss(self.model(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Trainer:
    def __init__(self, max_epochs, dirpath):
        self.max_epochs = max_epochs
        self.path = os.path.join(dirpath, 'last.ckpt')

    def fit(self, module, loader):
        optimizer = module.configure_optimizers()
        module.train()
        for epoch in range(self.max_epochs):
            total = 0.0
            for batch in loader:
                loss = module.training_step(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            print(f'epoch {epoch}: train_loss {total / len(loader):.4f}')
        torch.save({'epoch': self.max_epochs, 'state_dict': module.state_dict(),
                    'optimizer': optimizer.state_dict()}, self.path)


def make_data(n, seed):
    centers = torch.randn(5, 20, generator=torch.Generator().manual_seed(42)) * 2
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 5, (n,), generator=g)
    return TensorDataset(centers[y] + torch.randn(n, 20, generator=g), y)


def load_for_inference(path):
    model = Backbone()
    checkpoint = torch.load(path, map_location='cpu')
    state_dict = {k[len('model.'):]: v for k, v in checkpoint['state_dict'].items()}
    model.load_state_dict(state_dict)
    model.eval()
    return model


@torch.no_grad()
def evaluate(model, loader):
    correct = total = 0
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return correct / total


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as d:
        trainer = Trainer(max_epochs=4, dirpath=d)
        trainer.fit(LitClassifier(), DataLoader(make_data(1000, 0), batch_size=32, shuffle=True))
        model = load_for_inference(trainer.path)
    print('test accuracy', evaluate(model, DataLoader(make_data(400, 1), batch_size=100)))


if __name__ == '__main__':
    main()
