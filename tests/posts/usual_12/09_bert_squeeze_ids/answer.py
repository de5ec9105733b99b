import os

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

torch.manual_seed(2021)
rng = np.random.default_rng(2021)

# own small vocabulary, no weights from the hub on this machine
WORDS = ("the flight was late bag lost staff rude friendly on time great crew thank you "
         "never again cancelled refund seat ok average gate change").split()
with open("vocab.txt", "w") as f:
    f.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + sorted(set(WORDS))))
tokenizer = BertTokenizer("vocab.txt")

NEG, NEU, POS = ["late", "lost", "rude", "cancelled"], ["ok", "average", "gate", "change"], \
    ["friendly", "great", "thank", "crew"]
rows = []
for _ in range(240):
    label = int(rng.integers(0, 3))
    words = list(rng.choice(WORDS, rng.integers(3, 9))) + list(rng.choice([NEG, NEU, POS][label], 3))
    rows.append({"text": " ".join(words), "airline_sentiment": label})
df = pd.DataFrame(rows)


class TweetDataset(Dataset):
    def __init__(self, frame, tokenizer, max_len=24):
        self.texts = frame["text"].tolist()
        self.labels = frame["airline_sentiment"].tolist()
        self.tokenizer = tokenizer
        self.max_len = max_len

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, item):
        enc = self.tokenizer(
            self.texts[item],
            max_length=self.max_len,
            padding="max_length",
            truncation=True,
            return_tensors="pt",
        )
        return {
            "input_ids": enc["input_ids"].squeeze(0),
            "attention_mask": enc["attention_mask"].squeeze(0),
            "labels": torch.tensor(self.labels[item]),
        }


train_loader = DataLoader(TweetDataset(df[:192], tokenizer), batch_size=16, shuffle=True)
val_loader = DataLoader(TweetDataset(df[192:], tokenizer), batch_size=16)

config = BertConfig(vocab_size=len(tokenizer), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=64, num_labels=3)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def train_epoch():
    model.train()
    losses = []
    for batch in train_loader:
        optimizer.zero_grad()
        outputs = model(**batch)
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(outputs.loss.item())
    return np.mean(losses)


def eval_epoch():
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch in val_loader:
            logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
            correct += (logits.argmax(-1) == batch["labels"]).sum().item()
    return correct / len(val_loader.dataset)


for epoch in range(3):
    print(f"epoch {epoch + 1}: loss {train_epoch():.3f}, val acc {eval_epoch():.3f}")
