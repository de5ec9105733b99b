import argparse

import torch
import torch.nn as nn


class SearchCell(nn.Module):
    """Recurrent cell that mixes candidate activations with learned architecture weights."""

    def __init__(self, ninp, nhid):
        super().__init__()
        self.w0 = nn.Linear(ninp + nhid, 2 * nhid)
        self.w1 = nn.Linear(nhid, 2 * nhid)
        self.alphas = nn.Parameter(1e-3 * torch.randn(2, 4))

    def mix(self, weights, c, h):
        probs = weights.softmax(dim=-1)
        candidates = [torch.tanh(h), torch.relu(h), torch.sigmoid(h), h]
        return sum(p * f for p, f in zip(probs, candidates)) * c

    def forward(self, x, h):
        c, s = self.w0(torch.cat([x, h], dim=-1)).chunk(2, dim=-1)
        s0 = h + self.mix(self.alphas[0], c.sigmoid(), s - h)
        c, s = self.w1(s0).chunk(2, dim=-1)
        return s0 + self.mix(self.alphas[1], c.sigmoid(), s - s0)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.nhid = nhid
        self.encoder = nn.Embedding(ntoken, ninp)
        self.cell = SearchCell(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, tokens, hidden):
        outputs = []
        h = hidden[0]
        for x in self.encoder(tokens):
            h = self.cell(x, h)
            outputs.append(h)
        return self.decoder(torch.stack(outputs)), (h,)

    def init_hidden(self, batch_size):
        return (torch.zeros(batch_size, self.nhid),)


def repackage_hidden(h):
    """Wraps the hidden states for the next batch."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, batch_size):
    steps = data.size(0) // batch_size
    return data[: steps * batch_size].view(batch_size, -1).t().contiguous()


def train(model, data, args):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        hidden = model.init_hidden(data.size(1))
        total, batches = 0.0, 0
        for i in range(0, data.size(0) - 1, args.bptt):
            seq_len = min(args.bptt, data.size(0) - 1 - i)
            tokens, targets = data[i : i + seq_len], data[i + 1 : i + 1 + seq_len]
            hidden = repackage_hidden(hidden)
            optimizer.zero_grad()
            logits, hidden = model(tokens, hidden)
            loss = criterion(logits.flatten(0, 1), targets.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            total += loss.item()
            batches += 1
        print(f"epoch {epoch + 1}: loss {total / batches:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--bptt", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip", type=float, default=0.25)
    args = parser.parse_args()

    torch.manual_seed(0)
    text = torch.cumsum(torch.randint(1, 3, (4000,)), dim=0) % 20
    train(RNNModel(ntoken=20, ninp=16, nhid=48), batchify(text, 16), args)
