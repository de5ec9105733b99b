import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

TAGS = {"<pad>": 0, "O": 1, "PER": 2, "LOC": 3}
PAD_TOKEN, PAD_TAG = 0, 0
VOCAB = 120


def sentence(rng):
    """A few long sentences among many short ones; names follow a trigger word."""
    length = rng.choice([5, 6, 7, 8, 60])
    words = [rng.randrange(40, VOCAB) for _ in range(length)]
    tags = [TAGS["O"]] * length
    for i in range(0, length - 1, 5):
        if rng.random() < 0.6:
            kind = rng.choice(["PER", "LOC"])
            words[i] = rng.randrange(10, 20) if kind == "PER" else rng.randrange(20, 30)
            tags[i + 1] = TAGS[kind]
    return torch.tensor(words), torch.tensor(tags)


def collate(batch):
    words, tags = zip(*batch)
    return (
        pad_sequence(words, batch_first=True, padding_value=PAD_TOKEN),
        pad_sequence(tags, batch_first=True, padding_value=PAD_TAG),
    )


class Tagger(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD_TOKEN)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, len(TAGS))

    def forward(self, words):
        return self.out(self.gru(self.emb(words))[0])


def entity_recall(model, sentences):
    model.eval()
    found = total = 0
    with torch.no_grad():
        for words, tags in sentences:
            pred = model(words.unsqueeze(0)).argmax(-1)[0]
            names = tags > TAGS["O"]
            found += (pred[names] == tags[names]).sum().item()
            total += names.sum().item()
    return found / total


def main():
    rng = random.Random(8)
    torch.manual_seed(8)
    train = [sentence(rng) for _ in range(600)]
    test = [sentence(rng) for _ in range(150)]
    loader = DataLoader(train, batch_size=30, shuffle=True, collate_fn=collate)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
    for epoch in range(6):
        model.train()
        total, batches = 0.0, 0
        for words, tags in loader:
            optimizer.zero_grad()
            logits = model(words)
            loss = criterion(logits.reshape(-1, len(TAGS)), tags.reshape(-1))
            loss.backward()
            optimizer.step()
            total += loss.item()
            batches += 1
        print(f"epoch {epoch + 1}: loss {total / batches:.4f} entity recall {entity_recall(model, test):.3f}")


if __name__ == "__main__":
    main()
