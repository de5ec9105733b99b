import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


def leaves(n, seed, noise):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (n,), generator=g)
    grid = torch.linspace(-1, 1, 16)
    yy, xx = torch.meshgrid(grid, grid, indexing='ij')
    images = torch.empty(n, 1, 16, 16)
    for i, l in enumerate(labels.tolist()):
        a, b = 0.4 + 0.15 * (l % 2), 0.4 + 0.15 * (l // 2)
        images[i, 0] = ((xx / a) ** 2 + (yy / b) ** 2 < 1).float()
    images += noise * torch.randn(images.shape, generator=g)
    wrong = torch.rand(n, generator=g) < (0.3 if seed == 0 else 0.0)
    labels[wrong] = torch.randint(0, 4, (int(wrong.sum()),), generator=g)
    return TensorDataset(images, labels)


class LeafNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Linear(48 * 16, 128), nn.ReLU(), nn.Linear(128, n_classes))

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def run_phase(model, loader, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, right = 0.0, 0
    for inputs, labels in loader:
        with torch.set_grad_enabled(optimizer is not None):
            outputs = model(inputs)
            loss = F.cross_entropy(outputs, labels)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_sum += loss.item() * len(labels)
        right += (outputs.argmax(1) == labels).sum().item()
    n = len(loader.dataset)
    return loss_sum / n, right / n


def train_model(model, loaders, optimizer, scheduler, num_epochs):
    best_model_wts = model.state_dict()
    best_acc = 0.0
    for epoch in range(num_epochs):
        train_loss, train_acc = run_phase(model, loaders['train'], optimizer)
        scheduler.step()
        val_loss, val_acc = run_phase(model, loaders['val'])
        print('Epoch {:2d} train {:.4f} {:.3f} val {:.4f} {:.3f}'.format(epoch, train_loss, train_acc, val_loss, val_acc))
        if val_acc > best_acc:
            best_acc = val_acc
            best_model_wts = model.state_dict()
    print('Best val Acc: {:.4f}'.format(best_acc))
    model.load_state_dict(best_model_wts)
    return model


def main():
    torch.manual_seed(0)
    loaders = {'train': DataLoader(leaves(320, 0, 0.5), batch_size=16, shuffle=True),
               'val': DataLoader(leaves(400, 1, 0.5), batch_size=100)}
    model = LeafNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=12, gamma=0.5)
    model = train_model(model, loaders, optimizer, scheduler, num_epochs=18)
    print('returned model: val Acc {:.4f}'.format(run_phase(model, loaders['val'])[1]))


if __name__ == '__main__':
    main()
