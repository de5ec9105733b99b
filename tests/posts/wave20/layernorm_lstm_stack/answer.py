import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class NormLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.from_input = nn.Linear(input_size, 4 * hidden_size)
        self.from_hidden = nn.Linear(hidden_size, 4 * hidden_size, bias=False)
        self.norm_input = nn.LayerNorm(4 * hidden_size)
        self.norm_hidden = nn.LayerNorm(4 * hidden_size)
        self.norm_cell = nn.LayerNorm(hidden_size)

    def forward(self, x, state):
        h, c = state
        gates = self.norm_input(self.from_input(x)) + self.norm_hidden(self.from_hidden(h))
        i, f, g, o = gates.chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(self.norm_cell(c))
        return h, (h, c)


class NormLSTM(nn.Module):
    """Stack of layer normalised LSTM layers with the interface of nn.LSTM."""

    def __init__(self, input_size, hidden_size, num_layers=1, batch_first=False, dropout=0.0):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.drop = nn.Dropout(dropout)
        sizes = [input_size] + [hidden_size] * (num_layers - 1)
        self.cells = nn.ModuleList([NormLSTMCell(s, hidden_size) for s in sizes])

    def init_hidden(self, batch_size):
        zeros = torch.zeros(self.num_layers, batch_size, self.hidden_size)
        return zeros, zeros.clone()

    def layer_forward(self, layer, x, state):
        if self.batch_first:
            x = x.permute(1, 0, 2)
        outputs = []
        for step in x:
            h, state = self.cells[layer](step, state)
            outputs.append(h)
        x = torch.stack(outputs)
        if self.batch_first:
            x = x.permute(1, 0, 2)
        return x, state

    def forward(self, x, hidden):
        h0, c0 = hidden
        h_n, c_n = [], []
        for layer in range(self.num_layers):
            x, (h, c) = self.layer_forward(layer, x, (h0[layer], c0[layer]))
            if layer < self.num_layers - 1:
                x = self.drop(x)
            h_n.append(h)
            c_n.append(c)
        return x, (torch.stack(h_n), torch.stack(c_n))


class ActivityNet(nn.Module):
    def __init__(self, n_channels, n_classes, hidden=32):
        super().__init__()
        self.rnn = NormLSTM(n_channels, hidden, num_layers=2, batch_first=True, dropout=0.1)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x):
        out, _ = self.rnn(x, self.rnn.init_hidden(x.size(0)))
        return self.fc(out[:, -1])


def make_windows(n, length=50, n_channels=6, n_classes=4):
    gen = torch.Generator().manual_seed(n)
    y = torch.randint(0, n_classes, (n,), generator=gen)
    t = torch.arange(length) / length
    phase = torch.rand(n, n_channels, 1, generator=gen)
    x = torch.sin(2 * torch.pi * ((y[:, None, None] + 1) * t + phase)).transpose(1, 2)
    return TensorDataset(x + 0.1 * torch.randn(x.shape, generator=gen), y)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_windows(256), batch_size=32, shuffle=True)
    test_loader = DataLoader(make_windows(64), batch_size=32)
    model = ActivityNet(n_channels=6, n_classes=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {hits / len(test_loader.dataset):.3f}")


if __name__ == "__main__":
    main()
