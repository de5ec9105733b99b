import math

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class SortingTask(Dataset):
    """Ten numbers; which place does each take when they are sorted?"""

    def __init__(self, samples, length=10):
        self.samples, self.length = samples, length

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        numbers = torch.randint(0, 50, (self.length,), generator=g)
        return numbers, numbers.argsort().argsort()


class Positions(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        place = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(100.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2] = torch.sin(place * rate)
        table[:, 1::2] = torch.cos(place * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table


class SortFormer(nn.Module):
    def __init__(self, width=32, length=10):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.positions = Positions(width, length)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, length)

    def forward(self, numbers):
        return self.out(self.encoder(self.positions(self.embed(numbers))))


def train(model, loader, optimizer, criterion):
    model.train()
    total_loss = 0
    for numbers, places in loader:
        logits = model(numbers)
        loss = criterion(logits.flatten(0, 1), places.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss
    return total_loss / len(loader)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(SortingTask(80), batch_size=16, shuffle=True)
    model = SortFormer()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        loss = train(model, loader, optimizer, criterion)
        print(f"epoch {epoch + 1}: loss {loss:.4f}")
