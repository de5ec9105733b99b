import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=3)
parser.add_argument('--weights', default='leaf_state.pt')


class LeafCNN(nn.Module):
    def __init__(self, diseases=6):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.ReLU(),
            nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Linear(32 * 9 * 9, diseases)

    def forward(self, leaf):
        return self.classify(self.features(leaf).flatten(1))


def train(model, loader, epochs, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        total = 0.0
        for leaf, disease in loader:
            leaf, disease = leaf.to(device), disease.to(device)
            optimizer.zero_grad()
            loss = criterion(model(leaf), disease)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch} of {epochs}: mean training loss {total / len(loader):.4f}')


def main():
    args = parser.parse_args()
    torch.manual_seed(15)
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    leaves = datasets.FakeData(200, (3, 44, 44), 6, transform=transforms.ToTensor())
    model = LeafCNN().to(device)
    train(model, DataLoader(leaves, batch_size=32, shuffle=True), args.epochs, device)
    torch.save(model.state_dict(), args.weights)


if __name__ == '__main__':
    main()
