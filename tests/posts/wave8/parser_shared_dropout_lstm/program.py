import torch
import torch.nn as nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence


class SharedDropoutLSTM(nn.Module):
    """LSTM over packed sequences with one dropout mask for all the steps of a layer"""

    def __init__(self, input_size, hidden_size, num_layers=1, dropout=0, bidirectional=False):
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.num_layers, self.dropout, self.bidirectional = num_layers, dropout, bidirectional
        self.f_cells, self.b_cells = nn.ModuleList(), nn.ModuleList()
        for _ in range(num_layers):
            self.f_cells.append(nn.LSTMCell(input_size, hidden_size))
            if bidirectional:
                self.b_cells.append(nn.LSTMCell(input_size, hidden_size))
            input_size = hidden_size * (1 + bidirectional)

    def mask(self, x):
        return x.new_empty(x.shape).bernoulli_(1 - self.dropout) / (1 - self.dropout)

    def layer_forward(self, x, hx, cell, batch_sizes, reverse=False):
        h, c = hx
        h_n, c_n, outputs = h.clone(), c.clone(), [None] * len(x)
        keep = self.mask(h) if self.training else None
        for t in (reversed(range(len(x))) if reverse else range(len(x))):
            n = batch_sizes[t]
            if keep is not None:
                h_n = h_n * keep
            h_t, c_t = cell(x[t], (h_n[:n], c_n[:n]))
            outputs[t] = h_t
            h_n, c_n = torch.cat((h_t, h_n[n:])), torch.cat((c_t, c_n[n:]))
        return torch.cat(outputs), (h_n, c_n)

    def forward(self, sequence, hx=None):
        x, batch_sizes = sequence.data, sequence.batch_sizes.tolist()
        batch_size = batch_sizes[0]
        if hx is None:
            ih = x.new_zeros(self.num_layers, batch_size, self.hidden_size)
            h, c = ih, ih
        else:
            h, c = [s if sequence.sorted_indices is None else s.index_select(1, sequence.sorted_indices) for s in hx]
        # h and c are [num_layers * num_directions, batch_size, hidden_size]
        num_directions = 1 + self.bidirectional
        h = h.view(self.num_layers, num_directions, batch_size, self.hidden_size)
        c = c.view(self.num_layers, num_directions, batch_size, self.hidden_size)
        for i in range(self.num_layers):
            x = torch.split(x, batch_sizes)
            if self.training:
                m = self.mask(x[0])
                x = [step * m[:len(step)] for step in x]
            x_i, _ = self.layer_forward(x, (h[i, 0], c[i, 0]), self.f_cells[i], batch_sizes)
            if self.bidirectional:
                x_b, _ = self.layer_forward(x, (h[i, 1], c[i, 1]), self.b_cells[i], batch_sizes, True)
                x_i = torch.cat((x_i, x_b), -1)
            x = x_i
        return PackedSequence(x, sequence.batch_sizes, sequence.sorted_indices, sequence.unsorted_indices)


class BiaffineParser(nn.Module):
    def __init__(self, n_words=500, n_embed=100, n_hidden=400, n_layers=3, n_arc=500):
        super().__init__()
        self.embed = nn.Embedding(n_words, n_embed, padding_idx=0)
        self.lstm = SharedDropoutLSTM(n_embed, n_hidden, n_layers, dropout=0.33, bidirectional=True)
        self.mlp_d = nn.Sequential(nn.Linear(2 * n_hidden, n_arc), nn.LeakyReLU(0.1))
        self.mlp_h = nn.Sequential(nn.Linear(2 * n_hidden, n_arc), nn.LeakyReLU(0.1))
        self.weight = nn.Parameter(torch.zeros(n_arc + 1, n_arc))

    def forward(self, words):
        lens = words.ne(0).sum(1)
        x = pack_padded_sequence(self.embed(words), lens.tolist(), True, False)
        x, _ = pad_packed_sequence(self.lstm(x), True, total_length=words.shape[1])
        d, h = self.mlp_d(x), self.mlp_h(x)
        d = torch.cat((d, torch.ones_like(d[..., :1])), -1)
        return torch.einsum('bxi,ij,byj->bxy', d, self.weight, h)


torch.manual_seed(0)
words, heads = torch.zeros(16, 12, dtype=torch.long), torch.zeros(16, 12, dtype=torch.long)
for row in range(16):
    n = int(torch.randint(4, 13, (1,)))
    words[row, :n] = torch.randint(1, 500, (n,))
    heads[row, 1:n] = torch.randint(0, n, (n - 1,))

parser = BiaffineParser()
optimizer = torch.optim.Adam(parser.parameters(), lr=2e-3, betas=(.9, .9))
criterion = nn.CrossEntropyLoss()
for epoch in range(1):
    for batch, target in zip(words.split(8), heads.split(8)):
        optimizer.zero_grad()
        s_arc = parser(batch)
        mask = batch.ne(0)
        mask[:, 0] = False
        loss = criterion(s_arc[mask], target[mask])
        loss.backward()
        nn.utils.clip_grad_norm_(parser.parameters(), 5.0)
        optimizer.step()
        print('%.4f' % loss.item())
