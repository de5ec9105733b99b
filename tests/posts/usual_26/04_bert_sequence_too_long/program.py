from dataclasses import dataclass
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertModel


@dataclass
class Settings:
    vocab_size: int = 800
    max_tokens: int = 256
    hidden: int = 64
    layers: int = 2
    heads: int = 4
    batch_size: int = 8
    lr: float = 5e-4
    epochs: int = 2


PAD, CLS, SEP = 0, 1, 2


class ComplaintDataset(Dataset):
    """Token ids of customer complaints and the department that handles them."""

    def __init__(self, n, cfg, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            dept = rng.randrange(3)
            low = 10 + dept * 200
            length = rng.randint(20, 90)
            if rng.random() < 0.3:
                length = rng.randint(140, 300)
            ids = [rng.randrange(low, low + 300) for _ in range(length)]
            ids = [CLS] + ids[: cfg.max_tokens - 2] + [SEP]
            self.items.append((ids, dept))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def pad_batch(items):
    longest = max(len(ids) for ids, _ in items)
    input_ids = torch.full((len(items), longest), PAD)
    attention_mask = torch.zeros(len(items), longest, dtype=torch.long)
    for r, (ids, _) in enumerate(items):
        input_ids[r, : len(ids)] = torch.tensor(ids)
        attention_mask[r, : len(ids)] = 1
    labels = torch.tensor([d for _, d in items])
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


class ComplaintRouter(nn.Module):
    def __init__(self, cfg, n_departments=3):
        super().__init__()
        bert_cfg = BertConfig(
            vocab_size=cfg.vocab_size,
            hidden_size=cfg.hidden,
            num_hidden_layers=cfg.layers,
            num_attention_heads=cfg.heads,
            intermediate_size=cfg.hidden * 2,
            max_position_embeddings=128,
            pad_token_id=PAD,
        )
        self.bert = BertModel(bert_cfg)
        self.out = nn.Linear(cfg.hidden, n_departments)

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask)
        return self.out(hidden.pooler_output)


def evaluate(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for batch in loader:
            labels = batch.pop("labels")
            right += (model(**batch).argmax(-1) == labels).sum().item()
    return right / len(loader.dataset)


def main():
    cfg = Settings()
    torch.manual_seed(5)
    train_loader = DataLoader(ComplaintDataset(48, cfg, 0), cfg.batch_size, shuffle=True, collate_fn=pad_batch)
    val_loader = DataLoader(ComplaintDataset(24, cfg, 1), cfg.batch_size, collate_fn=pad_batch)
    model = ComplaintRouter(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(cfg.epochs):
        model.train()
        for batch in train_loader:
            labels = batch.pop("labels")
            loss = loss_fn(model(**batch), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch}  last loss {loss.item():.3f}  val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
