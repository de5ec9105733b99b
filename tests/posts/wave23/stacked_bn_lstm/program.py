import torch
import torch.nn as nn


class NormLSTMCell(nn.Module):
    """LSTM cell with normalised input and hidden projections."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(input_size, 4 * hidden_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, 4 * hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))
        self.norm_ih = nn.LayerNorm(4 * hidden_size)
        self.norm_hh = nn.LayerNorm(4 * hidden_size)
        self.norm_c = nn.LayerNorm(hidden_size)
        nn.init.orthogonal_(self.weight_ih)
        nn.init.orthogonal_(self.weight_hh)

    def forward(self, x, state):
        h, c = state
        gates = self.norm_ih(torch.mm(x, self.weight_ih)) + self.norm_hh(torch.mm(h, self.weight_hh)) + self.bias
        i, f, o, g = gates.chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(self.norm_c(c))
        return h, c


class NormLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=1, dropout=0.0):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.cells = nn.ModuleList(
            NormLSTMCell(input_size if layer == 0 else hidden_size, hidden_size)
            for layer in range(num_layers)
        )
        self.dropout = nn.Dropout(dropout)

    @staticmethod
    def run_layer(cell, sequence, state):
        outputs = []
        for x in sequence:
            state = cell(x, state)
            outputs.append(state[0])
        return torch.stack(outputs), state

    def forward(self, sequence):
        batch = sequence.size(1)
        zeros = sequence.new_zeros(batch, self.hidden_size)
        h_n, c_n = [], []
        layer_output = sequence
        for layer, cell in enumerate(self.cells):
            layer_output, (h, c) = self.run_layer(cell, sequence, (zeros, zeros))
            layer_output = self.dropout(layer_output)
            h_n.append(h)
            c_n.append(c)
        return layer_output, (torch.stack(h_n), torch.stack(c_n))


class RowClassifier(nn.Module):
    """Reads an image row by row."""

    def __init__(self, hidden_size=64, num_layers=2, num_classes=10):
        super().__init__()
        self.rnn = NormLSTM(input_size=28, hidden_size=hidden_size, num_layers=num_layers, dropout=0.2)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, images):
        rows = images.squeeze(1).permute(1, 0, 2)
        _, (h_n, _) = self.rnn(rows)
        return self.fc(h_n[-1])


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = RowClassifier().to(device)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

images = torch.randn(96, 1, 28, 28)
labels = torch.randint(0, 10, (96,))

for epoch in range(2):
    order = torch.randperm(len(images))
    for step, idx in enumerate(order.split(32)):
        x, y = images[idx].to(device), labels[idx].to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
