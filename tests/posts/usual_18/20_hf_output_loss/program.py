"""Fine-tuning a small BERT on support tickets: which team should get it."""
import random

import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

TEAMS = {
    "billing": "invoice refund charge payment card".split(),
    "network": "vpn router latency packet wifi".split(),
    "accounts": "password login reset locked email".split(),
}
COMMON = "please help i have a problem with my since yesterday it is".split()
VOCAB = {w: i + 3 for i, w in enumerate(sorted({*COMMON, *sum(TEAMS.values(), [])}))}
PAD, CLS, SEP = 0, 1, 2
MAX_LEN = 16


class Tickets(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.samples = []
        for _ in range(n):
            k = rnd.randrange(len(TEAMS))
            words = rnd.choices(list(TEAMS.values())[k], k=3) + rnd.choices(COMMON, k=rnd.randint(4, 10))
            rnd.shuffle(words)
            self.samples.append((words, k))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        words, k = self.samples[i]
        ids = [CLS] + [VOCAB[w] for w in words] + [SEP]
        mask = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
        ids = ids + [PAD] * (MAX_LEN - len(ids))
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "label": k}


def train_epoch(model, loader, criterion, optimizer, scheduler, device):
    model.train()
    total = 0.0
    for batch in loader:
        ids = batch["input_ids"].to(device)
        mask = batch["attention_mask"].to(device)
        labels = batch["label"].to(device)
        outputs = model(input_ids=ids, attention_mask=mask)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    preds, golds = [], []
    for batch in loader:
        out = model(batch["input_ids"].to(device), attention_mask=batch["attention_mask"].to(device))
        preds += out.logits.argmax(-1).tolist()
        golds += batch["label"].tolist()
    return f1_score(golds, preds, average="macro")


def main():
    torch.manual_seed(0)
    device = "cpu"
    cfg = BertConfig(vocab_size=len(VOCAB) + 3, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                     intermediate_size=64, max_position_embeddings=MAX_LEN, num_labels=len(TEAMS))
    model = BertForSequenceClassification(cfg).to(device)
    train_loader = DataLoader(Tickets(240, 0), batch_size=16, shuffle=True)
    dev_loader = DataLoader(Tickets(60, 1), batch_size=30)
    epochs = 3
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 5, epochs * len(train_loader))
    for epoch in range(epochs):
        loss = train_epoch(model, train_loader, criterion, optimizer, scheduler, device)
        print(f"epoch {epoch}: loss {loss:.3f} dev f1 {evaluate(model, dev_loader, device):.3f}")


if __name__ == "__main__":
    main()
