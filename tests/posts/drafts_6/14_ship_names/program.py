import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForTokenClassification

TAGS = ["O", "B-SHIP", "I-SHIP", "B-PORT"]
MAX_LEN = 48
SHIPS = ["maria dolores", "blue heron", "queen of orkney", "petrel", "northern star", "old anna"]
PORTS = ["leith", "bergen", "cuxhaven", "aarhus", "vigo"]
FILL = "the vessel left arrived in fog with cargo of coal and timber captain reports damage to rudder at dawn".split()


def make_sentence(rng):
    words, tags = [], []
    for _ in range(rng.randint(2, 4)):
        for w in rng.choices(FILL, k=rng.randint(2, 8)):
            words.append(w)
            tags.append(0)
        if rng.random() < 0.6:
            parts = rng.choice(SHIPS).split()
            words += parts
            tags += [1] + [2] * (len(parts) - 1)
        else:
            words.append(rng.choice(PORTS))
            tags.append(3)
    return words[:MAX_LEN], tags[:MAX_LEN]


class LogbookDataset(Dataset):
    def __init__(self, n, seed, vocab):
        rng = random.Random(seed)
        self.vocab = vocab
        self.items = [make_sentence(rng) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        words, tags = self.items[i]
        ids = [self.vocab.get(w, self.vocab["[UNK]"]) for w in words]
        return ids, tags


def collate(batch):
    longest = max(len(ids) for ids, _ in batch)
    input_ids, attention_mask, labels = [], [], []
    for ids, tags in batch:
        pad = longest - len(ids)
        input_ids.append(ids + [0] * pad)
        attention_mask.append([1] * len(ids) + [0] * pad)
        labels.append(tags + [0] * pad)
    return torch.tensor(input_ids), torch.tensor(attention_mask), torch.tensor(labels)


def build_vocab():
    words = sorted(set(FILL + PORTS + " ".join(SHIPS).split()))
    return {"[PAD]": 0, "[UNK]": 1, **{w: i + 2 for i, w in enumerate(words)}}


def main():
    torch.manual_seed(6)
    vocab = build_vocab()
    train_dl = DataLoader(LogbookDataset(320, 1, vocab), batch_size=16, shuffle=True, collate_fn=collate)
    dev_dl = DataLoader(LogbookDataset(80, 2, vocab), batch_size=16, collate_fn=collate)

    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
        num_labels=len(TAGS),
    )
    model = BertForTokenClassification(config)
    loss_fn = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    for epoch in range(3):
        model.train()
        for input_ids, attention_mask, labels in train_dl:
            logits = model(input_ids=input_ids, attention_mask=attention_mask)
            loss = loss_fn(logits.view(-1, len(TAGS)), labels.view(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        model.eval()
        right = total = 0
        with torch.no_grad():
            for input_ids, attention_mask, labels in dev_dl:
                pred = model(input_ids=input_ids, attention_mask=attention_mask).logits.argmax(-1)
                keep = labels != -100
                right += (pred[keep] == labels[keep]).sum().item()
                total += keep.sum().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, tag accuracy {right / total:.3f} on {total} tokens")


if __name__ == "__main__":
    main()
