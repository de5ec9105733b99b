import math
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

random.seed(8)
torch.manual_seed(8)

START, END = 1, 0
VOCAB, MAX_LENGTH = 40, 48


def fill(tokens, length, value=END):
    return torch.tensor(tokens + [value] * (length - len(tokens)))


class PretrainDataset(Dataset):
    def __init__(self, n):
        self.docs = []
        for _ in range(n):
            length = random.randint(5, 16)
            word, doc = random.randint(2, VOCAB - 1), []
            for _ in range(length):
                doc.append(word)
                word = 2 + (3 * word + random.choice([0, 1, 5, 11])) % (VOCAB - 2)
            self.docs.append([START] + doc + [END])

    def __len__(self):
        return len(self.docs)

    def __getitem__(self, i):
        doc = self.docs[i]
        input_ids = fill(doc, MAX_LENGTH)
        labels = fill(doc, MAX_LENGTH, value=-100)
        return input_ids, labels


class CausalLM(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2, ignore_index=-100):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(MAX_LENGTH, dim)
        block = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.lm_head = nn.Linear(dim, VOCAB)
        self.criterion = nn.CrossEntropyLoss(ignore_index=ignore_index)

    def forward(self, input_ids, labels=None):
        t = input_ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        h = self.tok(input_ids) + self.pos(torch.arange(t))
        logits = self.lm_head(self.blocks(h, mask=mask, is_causal=True))
        if labels is None:
            return logits
        pred = logits[:, :-1].reshape(-1, VOCAB)
        gold = labels[:, 1:].reshape(-1)
        return self.criterion(pred, gold)


if __name__ == "__main__":
    train_set, valid_set = PretrainDataset(256), PretrainDataset(64)
    loader = DataLoader(train_set, batch_size=16, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=32)
    model = CausalLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        total = 0.0
        for input_ids, labels in loader:
            loss = model(input_ids, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            valid = sum(model(x, y).item() for x, y in valid_loader) / len(valid_loader)
        print("epoch %d train loss %.3f valid loss %.3f perplexity %.2f" % (epoch, total / len(loader), valid, math.exp(valid)))
