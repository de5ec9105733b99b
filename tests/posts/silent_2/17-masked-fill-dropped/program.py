import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD_IDX = 0
VOCAB_SIZE = 100


class SentenceDataset(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            ids = torch.randint(1, VOCAB_SIZE, (random.randint(4, 18),))
            self.items.append((ids, int((ids < 20).any())))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate_fn(batch):
    seqs, labels = zip(*batch)
    return pad_sequence(seqs, batch_first=True, padding_value=PAD_IDX), torch.tensor(labels)


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.d_model = d_model

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_model)
        if mask is not None:
            scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        attn = torch.softmax(scores, dim=-1)
        return torch.bmm(attn, v)


class Encoder(nn.Module):
    def __init__(self, d_model=48, max_len=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        self.position = nn.Embedding(max_len, d_model)
        self.attention = SelfAttention(d_model)
        self.norm = nn.LayerNorm(d_model)
        self.fc = nn.Linear(d_model, 2)

    def forward(self, src):
        mask = (src != PAD_IDX).long()
        pos = torch.arange(src.size(1), device=src.device)
        x = self.embedding(src) + self.position(pos)
        x = self.norm(x + self.attention(x, mask))
        return self.fc(x[:, 0])


def main():
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_dl = DataLoader(SentenceDataset(400), 32, shuffle=True, collate_fn=collate_fn)
    valid_dl = DataLoader(SentenceDataset(100), 32, collate_fn=collate_fn)
    model = Encoder().to(device)
    loss_fn = nn.CrossEntropyLoss()
    optim = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        model.train()
        for src, label in train_dl:
            loss = loss_fn(model(src.to(device)), label.to(device))
            optim.zero_grad()
            loss.backward()
            optim.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for src, label in valid_dl:
                hits += (model(src.to(device)).argmax(1).cpu() == label).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {hits / 100:.2f}")


if __name__ == "__main__":
    main()
