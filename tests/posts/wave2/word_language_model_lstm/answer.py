import argparse
import math
import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='word language model')
parser.add_argument('--emsize', type=int, default=48)
parser.add_argument('--nhid', type=int, default=64)
parser.add_argument('--lr', type=float, default=20)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--bptt', type=int, default=35)
parser.add_argument('--batch_size', type=int, default=20)
parser.add_argument('--epochs', type=int, default=1)
args = parser.parse_args()
torch.manual_seed(1111)

ntokens = 500
corpus = torch.randint(0, ntokens, (2500,))


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers=2):
        super().__init__()
        self.nlayers, self.nhid = nlayers, nhid
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=0.2)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.encoder(tokens), hidden)
        return self.decoder(output).view(-1, self.decoder.out_features), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(self.nlayers, bsz, self.nhid), w.new_zeros(self.nlayers, bsz, self.nhid)


train_data = batchify(corpus, args.batch_size)
model = RNNModel(ntokens, args.emsize, args.nhid)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, args.epochs + 1):
    model.train()
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-args.lr)
        print('| epoch {:3d} | batch {:3d} | loss {:5.2f} | ppl {:8.2f}'.format(
            epoch, batch, loss.item(), math.exp(min(loss.item(), 20))))
