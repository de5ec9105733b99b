import argparse
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2
SRC_WORDS, N_TOPICS = 60, 12


class ToyTranslation(Dataset):
    """Source sentences of very different length; the translation is the sorted list of their topics."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            topics = sorted(rng.sample(range(N_TOPICS), rng.randint(1, 3)))
            words = [3 + 5 * rng.choice(topics) + rng.randrange(5) for _ in range(rng.choice([3, 4, 5, 6, 30, 40]))]
            present = sorted({(w - 3) // 5 for w in words})
            self.items.append((torch.tensor(words), torch.tensor([BOS] + [3 + t for t in present] + [EOS])))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    src, tgt = zip(*batch)
    lengths = torch.tensor([len(s) for s in src])
    return pad_sequence(src, padding_value=PAD), lengths, pad_sequence(tgt, padding_value=PAD)


class MeanEncoder(nn.Module):
    def __init__(self, num_layers, embeddings):
        super().__init__()
        self.num_layers = num_layers
        self.embeddings = embeddings

    def forward(self, src, lengths=None):
        vectors = self.embeddings(src)
        summary = vectors.mean(dim=0)
        state = summary.unsqueeze(0).repeat(self.num_layers, 1, 1)
        return (state, state.clone()), vectors, lengths


class RNNDecoder(nn.Module):
    def __init__(self, num_layers, embeddings, hidden_size, vocab):
        super().__init__()
        self.embeddings = embeddings
        self.rnn = nn.LSTM(embeddings.embedding_dim, hidden_size, num_layers)
        self.generator = nn.Linear(hidden_size, vocab)

    def forward(self, tgt, state):
        out, state = self.rnn(self.embeddings(tgt), state)
        return self.generator(out), state


class NMTModel(nn.Module):
    def __init__(self, dim, num_layers):
        super().__init__()
        self.encoder = MeanEncoder(num_layers, nn.Embedding(3 + SRC_WORDS, dim))
        self.decoder = RNNDecoder(num_layers, nn.Embedding(3 + N_TOPICS, dim), dim, 3 + N_TOPICS)

    def forward(self, src, lengths, tgt):
        state, _, _ = self.encoder(src, lengths)
        return self.decoder(tgt[:-1], state)[0]


def run(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum = correct = count = 0
    for src, lengths, tgt in loader:
        with torch.set_grad_enabled(optimizer is not None):
            scores = model(src, lengths, tgt)
            gold = tgt[1:]
            loss = criterion(scores.flatten(0, 1), gold.flatten())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        mask = gold != PAD
        loss_sum += loss.item() * mask.sum().item()
        correct += (scores.argmax(-1) == gold)[mask].sum().item()
        count += mask.sum().item()
    return loss_sum / count, correct / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--batch_size', type=int, default=32)
    parser.add_argument('--rnn_size', type=int, default=64)
    parser.add_argument('--layers', type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(0)
    train = DataLoader(ToyTranslation(3000, 0), args.batch_size, shuffle=True, collate_fn=collate)
    valid = DataLoader(ToyTranslation(400, 1), args.batch_size, collate_fn=collate)
    model = NMTModel(args.rnn_size, args.layers)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        xent, acc = run(model, train, criterion, optimizer)
        v_xent, v_acc = run(model, valid, criterion)
        print(f'epoch {epoch + 1}: train xent {xent:.3f} acc {acc:.3f} | valid xent {v_xent:.3f} acc {v_acc:.3f}')


if __name__ == '__main__':
    main()
