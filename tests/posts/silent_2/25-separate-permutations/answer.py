import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

N_SAMPLES, N_FEATURES, N_CLASSES = 900, 16, 3
BATCH, EPOCHS, LR = 45, 8, 1e-2


def load_table():
    features = torch.randn(N_SAMPLES, N_FEATURES)
    centers = torch.randn(N_CLASSES, N_FEATURES) * 1.5
    labels = torch.arange(N_SAMPLES) * N_CLASSES // N_SAMPLES
    return features + centers[labels], labels


def prepare(features, labels, train_fraction=0.8):
    perm = torch.randperm(len(features))
    features = features[perm]
    labels = labels[perm]
    cut = int(train_fraction * len(features))
    mean, std = features[:cut].mean(0), features[:cut].std(0)
    features = (features - mean) / std
    train = TensorDataset(features[:cut], labels[:cut])
    test = TensorDataset(features[cut:], labels[cut:])
    return train, test


class MLP(nn.Module):
    def __init__(self, sizes, p=0.1):
        super().__init__()
        layers = []
        for a, b in zip(sizes[:-2], sizes[1:-1]):
            layers.extend([nn.Linear(a, b), nn.ReLU(), nn.Dropout(p)])
        layers.append(nn.Linear(sizes[-2], sizes[-1]))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def main():
    torch.manual_seed(21)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set, test_set = prepare(*load_table())
    train_loader = DataLoader(train_set, batch_size=BATCH, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=BATCH)
    model = MLP([N_FEATURES, 64, 32, N_CLASSES]).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=LR, weight_decay=1e-5)

    for epoch in range(EPOCHS):
        model.train()
        running_loss = 0.0
        for inputs, targets in train_loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * inputs.size(0)
        model.eval()
        correct = 0
        with torch.no_grad():
            for inputs, targets in test_loader:
                predicted = model(inputs.to(device)).argmax(dim=1)
                correct += (predicted == targets.to(device)).sum().item()
        print(f"Epoch {epoch + 1}/{EPOCHS} loss {running_loss / len(train_set):.4f} "
              f"test accuracy {correct / len(test_set):.3f}")


if __name__ == "__main__":
    main()
