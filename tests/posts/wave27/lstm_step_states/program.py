import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 8
HIDDEN = 12
STEPS = 20


class StepwiseTagger(nn.Module):
    """Feeds the sequence one frame at a time and tags every frame."""

    def __init__(self, n_features, n_hidden, n_tags):
        super().__init__()
        self.n_hidden = n_hidden
        self.lstm = nn.LSTM(n_features, n_hidden, batch_first=True)
        self.head = nn.Linear(n_hidden, n_tags)

    def forward(self, x):
        batch = x.size(0)
        h_c = (x.new_zeros(1, batch, self.n_hidden), x.new_zeros(1, batch, self.n_hidden))
        states = []
        for t in range(x.size(1)):
            h_c = self.lstm(x[:, [t], :], h_c)[1]
            states.append(h_c[0])
        states = torch.cat(states, dim=1)
        return self.head(states)


def synthetic_signal(n):
    signal = torch.randn(n, STEPS, FEATURES)
    trend = signal.mean(dim=2).cumsum(dim=1)
    tags = (trend > 0.3).long() + (trend > -0.3).long()
    return signal, tags


def run_epoch(model, loader, criterion, optimizer=None):
    total, hits, count = 0.0, 0, 0
    for signal, tags in loader:
        scores = model(signal)
        loss = criterion(scores.transpose(1, 2), tags)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * signal.size(0)
        hits += (scores.argmax(dim=2) == tags).sum().item()
        count += tags.numel()
    return total / len(loader.dataset), hits / count


def main():
    torch.manual_seed(3)
    train_loader = DataLoader(TensorDataset(*synthetic_signal(256)), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(*synthetic_signal(64)), batch_size=32)

    model = StepwiseTagger(FEATURES, HIDDEN, 3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    for epoch in range(3):
        model.train()
        train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
        model.eval()
        with torch.no_grad():
            val_loss, val_acc = run_epoch(model, val_loader, criterion)
        print(f"{epoch}: {train_loss:.3f} {train_acc:.3f} | {val_loss:.3f} {val_acc:.3f}")


if __name__ == "__main__":
    main()
