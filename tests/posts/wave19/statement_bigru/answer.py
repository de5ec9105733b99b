import argparse
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

KINDS = ["assign", "call", "if", "while", "for", "return", "decl", "break"]
VOCAB = len(KINDS) + 40


def random_program(rng):
    """a program is a list of statements, a statement is a list of token ids"""
    label = rng.randrange(3)
    statements = []
    for _ in range(rng.randint(4, 20)):
        weights = [1] * len(KINDS)
        weights[2 + label] = 5
        kind = rng.choices(range(len(KINDS)), weights)[0]
        statements.append([kind] + [rng.randrange(len(KINDS), VOCAB) for _ in range(rng.randint(1, 6))])
    return statements, label


def get_batch(data, start, batch_size):
    chunk = data[start:start + batch_size]
    return [p for p, _ in chunk], torch.tensor([y for _, y in chunk])


class StatementEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim, mode="sum")
        self.linear = nn.Linear(dim, dim)

    def forward(self, statements):
        flat = torch.tensor([t for s in statements for t in s])
        offsets, pos = [], 0
        for s in statements:
            offsets.append(pos)
            pos += len(s)
        return torch.tanh(self.linear(self.embedding(flat, torch.tensor(offsets))))


class ProgramClassifier(nn.Module):
    def __init__(self, vocab, dim=32, hidden=32, classes=3):
        super().__init__()
        self.dim = dim
        self.encoder = StatementEncoder(vocab, dim)
        self.bigru = nn.GRU(dim, hidden, bidirectional=True, batch_first=True)
        self.hidden2label = nn.Linear(hidden * 2, classes)
        self.dropout = nn.Dropout(0.2)

    def forward(self, programs):
        lens = [len(p) for p in programs]
        max_len = max(lens)
        encodes = self.encoder([s for p in programs for s in p])

        seq, start = [], 0
        for n in lens:
            part = encodes[start:start + n]
            if n < max_len:
                part = torch.cat([part, torch.zeros(max_len - n, self.dim)])
            seq.append(part)
            start += n
        encodes = torch.stack(seq)

        lens, perm_idx = torch.LongTensor(lens).sort(0, descending=True)
        encodes = encodes[perm_idx]
        unperm_idx = perm_idx.argsort()

        packed = pack_padded_sequence(encodes, lens, batch_first=True)
        gru_out, _ = self.bigru(packed)
        gru_out, _ = pad_packed_sequence(gru_out, batch_first=True, padding_value=-1e8)
        gru_out = gru_out[unperm_idx]
        pooled = gru_out.max(dim=1).values
        return self.hidden2label(self.dropout(pooled))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()

    rng = random.Random(4)
    torch.manual_seed(4)
    data = [random_program(rng) for _ in range(800)]
    train_data, val_data = data[:640], data[640:]

    model = ProgramClassifier(VOCAB)
    optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
    loss_function = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        rng.shuffle(train_data)
        total_loss, total_acc = 0.0, 0
        for i in range(0, len(train_data), args.batch_size):
            inputs, labels = get_batch(train_data, i, args.batch_size)
            output = model(inputs)
            loss = loss_function(output, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_acc += (output.argmax(1) == labels).sum().item()
            total_loss += loss.item() * len(inputs)
        model.eval()
        with torch.no_grad():
            inputs, labels = get_batch(val_data, 0, len(val_data))
            val_acc = (model(inputs).argmax(1) == labels).float().mean().item()
        n = len(train_data)
        print(f"[epoch {epoch + 1}] loss {total_loss / n:.4f} train acc {total_acc / n:.3f} val acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
