import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

# features: reviews padded to 200 tokens, as in the notebook
rng = np.random.default_rng(0)
n_train, n_val, seq_length, vocab_size = 200, 25, 200, 2000
train_x, train_y = rng.integers(0, vocab_size, (n_train, seq_length)), rng.integers(0, 2, n_train)
val_x, val_y = rng.integers(0, vocab_size, (n_val, seq_length)), rng.integers(0, 2, n_val)

train_data = TensorDataset(torch.from_numpy(train_x), torch.from_numpy(train_y))
valid_data = TensorDataset(torch.from_numpy(val_x), torch.from_numpy(val_y))

batch_size = 64

train_loader = DataLoader(train_data, shuffle=True, batch_size=batch_size)


class SentimentRNN(nn.Module):
    def __init__(self, vocab_size, output_size, embedding_dim, hidden_dim, n_layers, drop_prob=0.5):
        super().__init__()
        self.n_layers = n_layers
        self.hidden_dim = hidden_dim
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, n_layers, dropout=drop_prob, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(hidden_dim, output_size)
        self.sig = nn.Sigmoid()

    def forward(self, x, hidden):
        embeds = self.embedding(x)
        lstm_out, hidden = self.lstm(embeds, hidden)
        out = self.fc(self.dropout(lstm_out[:, -1]))
        return self.sig(out).squeeze(1), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        return (weight.new_zeros(self.n_layers, batch_size, self.hidden_dim),
                weight.new_zeros(self.n_layers, batch_size, self.hidden_dim))


net = SentimentRNN(vocab_size, 1, embedding_dim=64, hidden_dim=64, n_layers=2)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
clip = 5

for e in range(1):
    h = net.init_hidden(batch_size)
    for counter, (inputs, labels) in enumerate(train_loader, 1):
        h = tuple([each.data for each in h])
        net.zero_grad()
        output, h = net(inputs, h)
        loss = criterion(output, labels.float())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        print('Epoch: {}/1... Step: {}... Loss: {:.6f}'.format(e + 1, counter, loss.item()))
