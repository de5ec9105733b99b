"""BiLSTM part-of-speech tagger."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD_ID = 0
PAD_TAG = -100


class TagDataset(Dataset):
    def __init__(self, n, vocab_size, num_tags):
        rng = random.Random(13)
        self.items = []
        for _ in range(n):
            length = rng.randint(5, 20)
            words = [rng.randint(1, vocab_size - 1) for _ in range(length)]
            tags = [w % num_tags for w in words]
            self.items.append((torch.tensor(words), torch.tensor(tags)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


def collate(batch):
    words, tags = zip(*batch)
    words = pad_sequence(words, batch_first=True, padding_value=PAD_ID)
    tags = pad_sequence(tags, batch_first=True, padding_value=PAD_TAG)
    return words, tags


class BiLSTMTagger(nn.Module):
    def __init__(self, vocab_size, num_tags, emb_dim=64, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=PAD_ID)
        self.lstm = nn.LSTM(emb_dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, num_tags)

    def forward(self, words):
        h, _ = self.lstm(self.embedding(words))
        return self.out(h)


def main():
    torch.manual_seed(13)
    vocab_size, num_tags = 500, 12
    loader = DataLoader(TagDataset(400, vocab_size, num_tags), batch_size=16,
                        shuffle=True, collate_fn=collate)
    model = BiLSTMTagger(vocab_size, num_tags)
    loss_fn = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(3):
        total, steps = 0.0, 0
        for words, tags in loader:
            logits = model(words)
            loss = loss_fn(logits, tags)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            steps += 1
        print(f"epoch {epoch}  loss {total / steps:.3f}")


if __name__ == "__main__":
    main()
