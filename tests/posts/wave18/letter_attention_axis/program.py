import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

LETTERS = 'abcdefghijklmnopqrstuvwxyz'


class NextLetter(Dataset):
    def __init__(self, n=1200, length=8, seed=0):
        rng = np.random.default_rng(seed)
        self.x = rng.integers(0, 26, (n, length))
        self.pos = rng.integers(0, length, n)
        self.y = self.x[np.arange(n), self.pos].copy()
        self.mark = np.zeros((n, length), dtype=np.int64)
        self.mark[np.arange(n), self.pos] = 1

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.from_numpy(self.mark[i]), int(self.y[i])


class LetterLSTMAttention(nn.Module):
    def __init__(self, n_letters=26, dim=32, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(n_letters, dim)
        self.flag = nn.Embedding(2, dim)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True)
        self.score = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.value = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, n_letters)

    def attention(self, output):
        score = self.score(output).squeeze(-1)
        weight = torch.softmax(score, dim=1)
        context = (weight.unsqueeze(-1) * self.value(output)).sum(0)
        return context, weight

    def forward(self, x, mark):
        x = (self.emb(x) + self.flag(mark)).transpose(0, 1)
        output, _ = self.lstm(x)
        context, weight = self.attention(output)
        return self.out(context), weight


def accuracy(model, loader):
    model.eval()
    hit = 0
    with torch.no_grad():
        for x, mark, y in loader:
            pred, _ = model(x, mark)
            hit += (pred.argmax(1) == y).sum().item()
    return hit / len(loader.dataset)


def main(epochs=8):
    torch.manual_seed(0)
    train_loader = DataLoader(NextLetter(), batch_size=32, shuffle=True)
    test_loader = DataLoader(NextLetter(300, seed=1), batch_size=32)
    model = LetterLSTMAttention()
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, mark, y in train_loader:
            pred, _ = model(x, mark)
            loss = criterion(pred, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch} loss {total / len(train_loader):.3f} acc {accuracy(model, test_loader):.3f}')
    x, mark, _ = next(iter(test_loader))
    _, weight = model(x, mark)
    word = ''.join(LETTERS[i] for i in x[0].tolist())
    print(word, [round(w, 2) for w in weight[:, 0].tolist()])


if __name__ == '__main__':
    main()
