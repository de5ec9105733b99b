import torch
import torch.nn as nn


class SentimentRNN(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, n_layers, drop_prob=0.5):
        super().__init__()
        self.n_layers = n_layers
        self.hidden_dim = hidden_dim
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(
            embedding_dim,
            hidden_dim,
            n_layers,
            dropout=drop_prob,
            batch_first=True,
            bidirectional=True,
        )
        self.fc = nn.Linear(2 * hidden_dim, 1)

    def forward(self, x, hidden):
        embeds = self.embedding(x)
        lstm_out, hidden = self.lstm(embeds, hidden)
        out = torch.sigmoid(self.fc(lstm_out[:, -1]))
        return out.squeeze(1), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        shape = (self.n_layers, batch_size, self.hidden_dim)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def main(inputs, labels):
    net = SentimentRNN(200, 32, 20, 2)
    criterion = nn.BCELoss()
    h = net.init_hidden(inputs.size(0))
    output, h = net(inputs, h)
    loss = criterion(output, labels.float())
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5)
    return loss, output


def example_inputs():
    return torch.randint(0, 200, (7, 15)), torch.randint(0, 2, (7,))
