import argparse

import numpy as np
import torch
import torch.nn as nn


def get_args():
    p = argparse.ArgumentParser(description="Stateful melody model")
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--seq-len", type=int, default=16)
    p.add_argument("--hidden-size", type=int, default=48)
    p.add_argument("--num-layers", type=int, default=2)
    p.add_argument("--lr", type=float, default=5e-3)
    return p.parse_args()


def make_song(n_notes, seed=0):
    rng = np.random.default_rng(seed)
    scale = np.array([0, 2, 4, 5, 7, 9, 11, 12])
    motif = [0, 2, 4, 2, 5, 4, 2, 1]
    notes = []
    while len(notes) < n_notes:
        shift = rng.integers(0, 3)
        notes += [scale[(m + shift) % len(scale)] for m in motif]
    return torch.tensor(np.array(notes[:n_notes]), dtype=torch.long)


def batchify(song, batch_size):
    n = len(song) // batch_size
    return song[:n * batch_size].view(batch_size, n)


class MelodyModel(nn.Module):
    def __init__(self, n_pitches, hidden_size, num_layers):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.embed = nn.Embedding(n_pitches, 24)
        self.gru = nn.GRU(24, hidden_size, num_layers, batch_first=True, dropout=0.1)
        self.out = nn.Linear(hidden_size, n_pitches)

    def init_hidden(self, batch_size):
        return torch.zeros(self.num_layers, batch_size, self.hidden_size)

    def forward(self, x, hidden):
        output, hidden = self.gru(self.embed(x), hidden)
        return self.out(output), hidden


def train(model, stream, args):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        hidden = model.init_hidden(stream.size(0))
        losses = []
        for start in range(0, stream.size(1) - args.seq_len - 1, args.seq_len):
            x = stream[:, start:start + args.seq_len]
            y = stream[:, start + 1:start + args.seq_len + 1]
            hidden = hidden.detach()
            logits, hidden = model(x, hidden)
            loss = criterion(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: perplexity {np.exp(np.mean(losses)):.2f}")


@torch.no_grad()
def compose(model, first_note, length):
    model.eval()
    note = torch.tensor([[first_note]])
    hidden = model.init_hidden(1)
    melody = [first_note]
    for _ in range(length - 1):
        logits, hidden = model(note, hidden)
        probs = torch.softmax(logits[:, -1], dim=-1)
        note = torch.multinomial(probs, 1)
        melody.append(note.item())
    return melody


if __name__ == "__main__":
    args = get_args()
    torch.manual_seed(0)
    song = make_song(2600)
    n_pitches = int(song.max()) + 1
    model = MelodyModel(n_pitches, args.hidden_size, args.num_layers)
    train(model, batchify(song, args.batch_size), args)
    print("new melody:", compose(model, 0, 24))
