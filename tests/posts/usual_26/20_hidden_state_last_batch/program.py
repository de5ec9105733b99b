import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

params = {
    "seq_len": 40,
    "batch_size": 32,
    "hidden_size": 48,
    "num_layers": 2,
    "epochs": 8,
    "lr": 0.003,
}


class EcgBeats(Dataset):
    def __init__(self, n, seq_len, seed):
        rng = np.random.default_rng(seed)
        t = np.linspace(0, 1, seq_len)
        self.label = rng.integers(0, 2, n)
        centre = rng.uniform(0.7, 0.85, n)[:, None]
        width = np.where(self.label == 1, 0.12, 0.04)[:, None]
        beat = np.exp(-((t - centre) ** 2) / (2 * width ** 2))
        self.beat = (beat + rng.normal(0, 0.05, beat.shape)).astype(np.float32)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return torch.from_numpy(self.beat[i]).unsqueeze(-1), int(self.label[i])


class BeatLSTM(nn.Module):
    def __init__(self, hidden_size, num_layers, batch_size, n_classes=2):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_size = batch_size
        self.embed = nn.Linear(1, 16)
        self.lstm = nn.LSTM(16, hidden_size, num_layers, batch_first=True, dropout=0.1)
        self.fc = nn.Linear(hidden_size, n_classes)

    def init_hidden(self, batch_size):
        shape = (self.num_layers, batch_size, self.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, x):
        hidden = self.init_hidden(self.batch_size)
        out, _ = self.lstm(torch.tanh(self.embed(x)), hidden)
        return self.fc(out[:, -1, :])


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for beats, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(beats), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def evaluate(model, loader, criterion):
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for beats, labels in loader:
            out = model(beats)
            total += criterion(out, labels).item() * labels.size(0)
            correct += (out.argmax(dim=1) == labels).sum().item()
    n = len(loader.dataset)
    return total / n, correct / n


def main():
    torch.manual_seed(100)
    train_loader = DataLoader(EcgBeats(300, params["seq_len"], 0), batch_size=params["batch_size"],
                              shuffle=True, drop_last=True)
    test_loader = DataLoader(EcgBeats(90, params["seq_len"], 1), batch_size=params["batch_size"])
    model = BeatLSTM(params["hidden_size"], params["num_layers"], params["batch_size"])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=params["lr"])
    for epoch in range(params["epochs"]):
        train_loss = train_one_epoch(model, train_loader, criterion, optimizer)
        test_loss, test_acc = evaluate(model, test_loader, criterion)
        print(f"Epoch {epoch + 1:2d}: train {train_loss:.4f}, test {test_loss:.4f}, acc {test_acc:.3f}")


if __name__ == "__main__":
    main()
