"""
Court decisions -> outcome.  A small BERT trained from scratch on our own word vocabulary.
"""
import logging
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("court")

PAD, CLS, SEP, UNK = 0, 1, 2, 3
OUTCOMES = ["dismissed", "granted", "remanded"]


@dataclass
class Config:
    hidden: int = 64
    layers: int = 1
    heads: int = 4
    batch_size: int = 8
    epochs: int = 2
    lr: float = 5e-4
    seed: int = 17


def make_corpus(n, rng):
    common = [f"word{i}" for i in range(300)]
    special = [[f"{o}_{k}" for k in range(12)] for o in OUTCOMES]
    docs, labels = [], []
    for _ in range(n):
        y = int(rng.integers(len(OUTCOMES)))
        length = int(rng.integers(80, 700))
        words = [special[y][rng.integers(12)] if rng.random() < 0.15 else common[rng.integers(300)]
                 for _ in range(length)]
        docs.append(" ".join(words))
        labels.append(y)
    return docs, labels


class WordTokenizer:
    def __init__(self, docs):
        words = sorted({w for d in docs for w in d.split()})
        self.vocab = {w: i + 4 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.vocab) + 4

    def encode(self, text, max_length=None):
        ids = [self.vocab.get(w, UNK) for w in text.split()]
        if max_length is not None:
            ids = ids[:max_length - 2]
        return [CLS] + ids + [SEP]


class CourtDataset(Dataset):
    def __init__(self, docs, labels, tokenizer):
        self.items = [(tokenizer.encode(d), y) for d, y in zip(docs, labels)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    longest = max(len(ids) for ids, _ in items)
    input_ids = torch.full((len(items), longest), PAD)
    attention_mask = torch.zeros(len(items), longest, dtype=torch.long)
    for row, (ids, _) in enumerate(items):
        input_ids[row, :len(ids)] = torch.tensor(ids)
        attention_mask[row, :len(ids)] = 1
    labels = torch.tensor([y for _, y in items])
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def main(cfg):
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    train_docs, train_y = make_corpus(40, rng)
    dev_docs, dev_y = make_corpus(16, rng)
    tokenizer = WordTokenizer(train_docs)

    train_loader = DataLoader(CourtDataset(train_docs, train_y, tokenizer), cfg.batch_size, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(CourtDataset(dev_docs, dev_y, tokenizer), cfg.batch_size, collate_fn=collate)

    model = BertForSequenceClassification(BertConfig(
        vocab_size=len(tokenizer), hidden_size=cfg.hidden, num_hidden_layers=cfg.layers,
        num_attention_heads=cfg.heads, intermediate_size=4 * cfg.hidden,
        pad_token_id=PAD, num_labels=len(OUTCOMES)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)

    for epoch in range(cfg.epochs):
        model.train()
        losses = []
        for batch in train_loader:
            out = model(**batch)
            optimizer.zero_grad()
            out.loss.backward()
            optimizer.step()
            losses.append(out.loss.item())
        model.eval()
        correct = 0
        with torch.no_grad():
            for batch in dev_loader:
                correct += (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
        log.info("epoch %d loss %.3f dev acc %.3f", epoch, np.mean(losses), correct / len(dev_y))


if __name__ == "__main__":
    main(Config())
