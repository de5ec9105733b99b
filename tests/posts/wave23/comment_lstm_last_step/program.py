import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

PAD = 1
VOCAB = 60
LABELS = 3


class SimpleLSTMBaseline(nn.Module):
    def __init__(self, vocab_size, hidden_dim=32, emb_dim=24, num_linear=1):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=PAD)
        self.encoder = nn.LSTM(emb_dim, hidden_dim, num_layers=1)
        self.linear_layers = nn.ModuleList(
            [nn.Linear(hidden_dim, hidden_dim) for _ in range(num_linear)]
        )
        self.predictor = nn.Linear(hidden_dim, LABELS)

    def forward(self, seq):
        hdn, _ = self.encoder(self.embedding(seq))
        feature = hdn[-1, :, :]
        for layer in self.linear_layers:
            feature = torch.relu(layer(feature))
        return self.predictor(feature)


def make_comments(count, seed):
    rng = random.Random(seed)
    texts, labels = [], []
    for _ in range(count):
        length = rng.choice([4, 6, 8, 30, 50])
        words = [rng.randrange(20, VOCAB) for _ in range(length)]
        label = [0.0] * LABELS
        for k in range(LABELS):
            if rng.random() < 0.4:
                label[k] = 1.0
                words[-1 - k] = 2 + k
        texts.append(torch.tensor(words))
        labels.append(torch.tensor(label))
    return texts, labels


class BatchWrapper:
    def __init__(self, texts, labels, batch_size, shuffle):
        self.texts, self.labels = texts, labels
        self.batch_size, self.shuffle = batch_size, shuffle

    def __len__(self):
        return (len(self.texts) + self.batch_size - 1) // self.batch_size

    def __iter__(self):
        order = list(range(len(self.texts)))
        if self.shuffle:
            random.shuffle(order)
        for i in range(0, len(order), self.batch_size):
            ids = order[i:i + self.batch_size]
            x = pad_sequence([self.texts[j] for j in ids], padding_value=PAD)
            yield x, torch.stack([self.labels[j] for j in ids])


def main():
    torch.manual_seed(0)
    random.seed(0)
    train_dl = BatchWrapper(*make_comments(320, seed=1), batch_size=32, shuffle=True)
    valid_dl = BatchWrapper(*make_comments(96, seed=2), batch_size=32, shuffle=False)
    model = SimpleLSTMBaseline(VOCAB)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_func = nn.BCEWithLogitsLoss()

    for epoch in range(1, 9):
        model.train()
        running = 0.0
        for x, y in train_dl:
            opt.zero_grad()
            loss = loss_func(model(x), y)
            loss.backward()
            opt.step()
            running += loss.item()

        model.eval()
        hits, total = 0, 0
        with torch.no_grad():
            for x, y in valid_dl:
                hits += ((model(x) > 0).float() == y).sum().item()
                total += y.numel()
        print(f"epoch {epoch} train loss {running / len(train_dl):.4f} valid acc {hits / total:.3f}")


if __name__ == "__main__":
    main()
