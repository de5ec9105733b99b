import math

import torch
import torch.nn as nn
import torch.optim as optim


class GatedCell(nn.Module):
    """ my own recurrent cell: input, forget and output gate and a candidate """

    def __init__(self, input_size, hidden_size):
        super(GatedCell, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.weights = nn.ParameterDict()
        for gate in ['i', 'f', 'o', 'g']:
            self.weights['w_' + gate] = nn.Parameter(torch.empty(input_size, hidden_size))
            self.weights['u_' + gate] = nn.Parameter(torch.empty(hidden_size, hidden_size))
            self.weights['b_' + gate] = nn.Parameter(torch.zeros(hidden_size))
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.hidden_size)
        for name, w in self.weights.items():
            if not name.startswith('b_'):
                w.data.uniform_(-stdv, stdv)

    def gate(self, x, h, name):
        W = self.weights
        return torch.mm(x, W['w_' + name]) + torch.mm(h, W['u_' + name]) + W['b_' + name]

    def forward(self, x, state):
        h, c = state
        i = torch.sigmoid(self.gate(x, h, 'i'))
        f = torch.sigmoid(self.gate(x, h, 'f'))
        o = torch.sigmoid(self.gate(x, h, 'o'))
        g = torch.tanh(self.gate(x, h, 'g'))
        c = f * c + i * g
        h = o * torch.tanh(c)
        return h, c


class SequenceModel(nn.Module):
    def __init__(self, vocab_size, emb_size, hidden_size):
        super(SequenceModel, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab_size, emb_size)
        self.cell = GatedCell(emb_size, hidden_size)
        self.decoder = nn.Linear(hidden_size, vocab_size)

    def init_hidden(self, batch_size):
        return (torch.zeros(batch_size, self.hidden_size),
                torch.zeros(batch_size, self.hidden_size))

    def forward(self, tokens):
        state = self.init_hidden(tokens.size(0))
        emb = self.embedding(tokens)
        outputs = []
        for t in range(tokens.size(1)):
            state = self.cell(emb[:, t], state)
            outputs.append(self.decoder(state[0]))
        return torch.stack(outputs, 1)


def batches(n_batches, batch_size, seq_len, vocab_size, delay=3):
    # the model has to repeat what it saw some steps ago
    for _ in range(n_batches):
        x = torch.randint(0, vocab_size, (batch_size, seq_len))
        y = torch.zeros_like(x)
        y[:, delay:] = x[:, :-delay]
        yield x, y


torch.manual_seed(7)
vocab_size = 6
model = SequenceModel(vocab_size, emb_size=16, hidden_size=48)

n_params = sum(p.numel() for p in model.parameters())
print('parameters:', n_params)

criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)

running = 0.0
for step, (x, y) in enumerate(batches(200, 32, 12, vocab_size)):
    optimizer.zero_grad()
    out = model(x)
    loss = criterion(out.reshape(-1, vocab_size), y.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

    running += loss.item()
    if step % 50 == 49:
        print('step %4d  loss %.4f' % (step + 1, running / 50))
        running = 0.0

with torch.no_grad():
    x, y = next(batches(1, 256, 12, vocab_size))
    pred = model(x).argmax(-1)
    print('accuracy %.3f' % (pred == y).float().mean().item())
