import argparse
import random
import string
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument('--model', type=str, default='gru')
parser.add_argument('--n_epochs', type=int, default=20)
parser.add_argument('--print_every', type=int, default=5)
parser.add_argument('--hidden_size', type=int, default=100)
parser.add_argument('--n_layers', type=int, default=2)
parser.add_argument('--learning_rate', type=float, default=0.01)
parser.add_argument('--chunk_len', type=int, default=60)
parser.add_argument('--batch_size', type=int, default=16)
parser.add_argument('--cuda', action='store_true')
args = parser.parse_args()

all_characters = string.printable
n_characters = len(all_characters)
file = 'The woods are lovely, dark and deep, but I have promises to keep. ' * 40


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, model='gru', n_layers=1):
        super(CharRNN, self).__init__()
        self.model = model.lower()
        self.hidden_size, self.n_layers = hidden_size, n_layers
        self.encoder = nn.Embedding(input_size, hidden_size)
        rnn = nn.GRU if self.model == 'gru' else nn.LSTM
        self.rnn = rnn(hidden_size, hidden_size, n_layers)
        self.decoder = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        batch_size = input.size(0)
        encoded = self.encoder(input)
        output, hidden = self.rnn(encoded.view(1, batch_size, -1), hidden)
        return self.decoder(output.view(batch_size, -1)), hidden

    def init_hidden(self, batch_size):
        if self.model == 'lstm':
            return (torch.zeros(self.n_layers, batch_size, self.hidden_size),
                    torch.zeros(self.n_layers, batch_size, self.hidden_size))
        return torch.zeros(self.n_layers, batch_size, self.hidden_size)


def char_tensor(text):
    return torch.tensor([all_characters.index(c) for c in text])


def random_training_set(chunk_len, batch_size):
    inp = torch.zeros(batch_size, chunk_len, dtype=torch.long)
    target = torch.zeros(batch_size, chunk_len, dtype=torch.long)
    for bi in range(batch_size):
        start = random.randint(0, len(file) - chunk_len - 1)
        chunk = file[start:start + chunk_len + 1]
        inp[bi], target[bi] = char_tensor(chunk[:-1]), char_tensor(chunk[1:])
    return (inp.cuda(), target.cuda()) if args.cuda else (inp, target)


def train(inp, target):
    hidden = decoder.init_hidden(args.batch_size)
    if args.cuda:
        hidden = tuple(h.cuda() for h in hidden) if args.model == 'lstm' else hidden.cuda()
    decoder.zero_grad()
    loss = 0
    for c in range(args.chunk_len):
        output, hidden = decoder(inp[:, c], hidden)
        loss += criterion(output.view(args.batch_size, -1), target[:, c])
    loss.backward()
    decoder_optimizer.step()
    return loss.item() / args.chunk_len


decoder = CharRNN(n_characters, args.hidden_size, n_characters, model=args.model, n_layers=args.n_layers)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=args.learning_rate)
criterion = nn.CrossEntropyLoss()
if args.cuda:
    decoder.cuda()
for epoch in range(1, args.n_epochs + 1):
    loss = train(*random_training_set(args.chunk_len, args.batch_size))
    if epoch % args.print_every == 0:
        print('[%d %d%%] %.4f' % (epoch, epoch / args.n_epochs * 100, loss))
