import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PAD, BOS = 80, 0, 1


class RNNEncoder(nn.Module):
    def __init__(self, hidden_size=48, num_layers=2, emb=32, use_bridge=True):
        super(RNNEncoder, self).__init__()
        self.embeddings = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.rnn = nn.LSTM(emb, hidden_size, num_layers, dropout=0.1)
        self.use_bridge = use_bridge
        if self.use_bridge:
            self._initialize_bridge(hidden_size, num_layers)

    def forward(self, src):
        memory_bank, encoder_final = self.rnn(self.embeddings(src))
        if self.use_bridge:
            encoder_final = self._bridge(encoder_final)
        return encoder_final, memory_bank

    def _initialize_bridge(self, hidden_size, num_layers):
        # LSTM has hidden and cell state
        self.total_hidden_dim = hidden_size * num_layers
        self.bridge = nn.ModuleList([nn.Linear(self.total_hidden_dim, self.total_hidden_dim, bias=True)
                                     for _ in range(2)])

    def _bridge(self, hidden):
        def bottle_hidden(linear, states):
            layers, batch, dim = states.size()
            result = linear(states.transpose(0, 1).reshape(batch, self.total_hidden_dim))
            return F.relu(result).view(batch, layers, dim).transpose(0, 1).contiguous()

        return tuple([bottle_hidden(layer, hidden[ix]) for ix, layer in enumerate(self.bridge)])


class RNNDecoder(nn.Module):
    def __init__(self, hidden_size=48, num_layers=2, emb=32):
        super(RNNDecoder, self).__init__()
        self.embeddings = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.rnn = nn.LSTM(emb, hidden_size, num_layers, dropout=0.1)
        self.linear_in = nn.Linear(hidden_size, hidden_size, bias=False)
        self.linear_out = nn.Linear(2 * hidden_size, hidden_size, bias=False)

    def forward(self, tgt, memory_bank, state):
        rnn_output, state = self.rnn(self.embeddings(tgt), state)
        query = rnn_output.transpose(0, 1)
        memory = memory_bank.transpose(0, 1)
        align = torch.softmax(self.linear_in(query) @ memory.transpose(1, 2), dim=-1)
        context = torch.cat([align @ memory, query], dim=2)
        return torch.tanh(self.linear_out(context)).transpose(0, 1), state


class NMTModel(nn.Module):
    def __init__(self):
        super(NMTModel, self).__init__()
        self.encoder = RNNEncoder()
        self.decoder = RNNDecoder()
        self.generator = nn.Linear(48, VOCAB)

    def forward(self, src, tgt):
        state, memory_bank = self.encoder(src)
        output, _ = self.decoder(tgt[:-1], memory_bank, state)
        return self.generator(output)


def batches(n, batch_size=10, length=9):
    for _ in range(n):
        src = torch.randint(2, VOCAB, (length, batch_size))
        tgt = torch.cat([torch.full((1, batch_size), BOS), src.flip(0)])
        yield src, tgt


torch.manual_seed(5)
model = NMTModel()
optim = torch.optim.Adam(model.parameters(), lr=0.002)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step, (src, tgt) in enumerate(batches(60)):
    scores = model(src, tgt)
    loss = criterion(scores.view(-1, VOCAB), tgt[1:].reshape(-1))
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optim.step()
    if step % 20 == 19:
        print('Step %d; xent: %4.3f' % (step + 1, loss.item()))
