import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(10)

text = """the quick brown fox jumps over the lazy dog. she sells sea shells by the sea shore.
peter piper picked a peck of pickled peppers. how much wood would a woodchuck chuck """ * 6

chars = sorted(set(text))
char2int = {c: i for i, c in enumerate(chars)}
int2char = {i: c for c, i in char2int.items()}
encoded = np.array([char2int[c] for c in text])


def get_batches(arr, batch_size, seq_length):
    n_batches = len(arr) // (batch_size * seq_length)
    arr = arr[:n_batches * batch_size * seq_length].reshape(batch_size, -1)
    for n in range(0, arr.shape[1], seq_length):
        x = arr[:, n:n + seq_length]
        y = np.zeros_like(x)
        y[:, :-1] = x[:, 1:]
        y[:, -1] = arr[:, n + seq_length] if n + seq_length < arr.shape[1] else arr[:, 0]
        yield torch.from_numpy(x), torch.from_numpy(y)


class CharRNN(nn.Module):
    def __init__(self, n_chars, n_hidden=64, n_layers=2):
        super().__init__()
        self.n_layers = n_layers
        self.n_hidden = n_hidden
        self.embed = nn.Embedding(n_chars, 32)
        self.lstm = nn.LSTM(32, n_hidden, n_layers, batch_first=True, dropout=0.3)
        self.fc = nn.Linear(n_hidden, n_chars)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embed(x), hidden)
        return self.fc(out), hidden

    def init_hidden(self, batch_size):
        return (torch.zeros(self.n_layers, batch_size, self.n_hidden),
                torch.zeros(self.n_layers, batch_size, self.n_hidden))


def train(net, data, epochs=3, batch_size=4, seq_length=20, lr=0.005, clip=5):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    net.train()
    for e in range(epochs):
        h = net.init_hidden(batch_size)
        for x, y in get_batches(data, batch_size, seq_length):
            net.zero_grad()
            h = tuple(s.detach() for s in h)
            output, h = net(x, h)
            loss = criterion(output.reshape(-1, len(chars)), y.reshape(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), clip)
            opt.step()
        print('Epoch: {}/{}  Loss: {:.4f}'.format(e + 1, epochs, loss.item()))


def sample(net, size, prime='the '):
    net.eval()
    h = net.init_hidden(1)
    out = list(prime)
    with torch.no_grad():
        for c in prime:
            o, h = net(torch.tensor([[char2int[c]]]), h)
        for _ in range(size):
            idx = torch.multinomial(torch.softmax(o[0, -1], 0), 1).item()
            out.append(int2char[idx])
            o, h = net(torch.tensor([[idx]]), h)
    return ''.join(out)


net = CharRNN(len(chars))
train(net, encoded)
print(sample(net, 60))
