import random
import re

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPTNeoConfig, GPTNeoForSequenceClassification, GPTNeoModel

random.seed(1)
torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

GOOD = ["great", "lovely", "fresh", "quick", "friendly"]
BAD = ["awful", "cold", "rude", "slow", "stale"]
FILLER = ["the", "food", "was", "and", "service", "at", "this", "place", "really", "very", "waiter", "soup"]


class WordTokenizer:
    """Stand-in for the byte-level tokenizer: same calls, a vocabulary of words."""

    def __init__(self, words):
        self.vocab = {"<|endoftext|>": 0}
        for w in words:
            self.vocab.setdefault(w, len(self.vocab))
        self.pad_token = None

    def __len__(self):
        return len(self.vocab)

    @property
    def pad_token_id(self):
        return self.vocab[self.pad_token]

    def add_special_tokens(self, tokens):
        added = 0
        for name, token in tokens.items():
            if token not in self.vocab:
                self.vocab[token] = len(self.vocab)
                added += 1
            setattr(self, name, token)
        return added

    def __call__(self, texts, max_length):
        ids, mask = [], []
        for text in texts:
            row = [self.vocab.get(w, 0) for w in re.findall(r"\w+", text)][:max_length]
            fill = max_length - len(row)
            ids.append(row + [self.pad_token_id] * fill)
            mask.append([1] * len(row) + [0] * fill)
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


class ReviewDataset(Dataset):
    def __init__(self, encodings, labels):
        self.encodings = encodings
        self.labels = labels

    def __getitem__(self, idx):
        item = {key: val[idx] for key, val in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[idx])
        return item

    def __len__(self):
        return len(self.labels)


def make_reviews(n):
    texts, labels = [], []
    for _ in range(n):
        label = random.randint(0, 1)
        words = random.choices(FILLER, k=random.randint(4, 12)) + random.choices(GOOD if label else BAD, k=2)
        random.shuffle(words)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


def accuracy(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for batch in loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            logits = model(**batch).logits
            hits += (logits.argmax(-1) == batch["labels"]).sum().item()
            total += len(logits)
    return hits / total


tokenizer = WordTokenizer(FILLER + GOOD + BAD)

# the "pretrained" language model
config = GPTNeoConfig(
    vocab_size=len(tokenizer), hidden_size=32, num_layers=2, num_heads=4, intermediate_size=64,
    attention_types=[[["global", "local"], 1]], window_size=16, max_position_embeddings=32,
    bos_token_id=0, eos_token_id=0,
)
pretrained = GPTNeoModel(config)

# GPT-Neo comes without a padding token
tokenizer.add_special_tokens({"pad_token": "[PAD]"})

config.num_labels = 2
model = GPTNeoForSequenceClassification(config)
model.transformer.load_state_dict(pretrained.state_dict())
model.resize_token_embeddings(len(tokenizer))
model.config.pad_token_id = tokenizer.pad_token_id
model.to(device)

train_texts, train_labels = make_reviews(200)
val_texts, val_labels = make_reviews(60)
train_loader = DataLoader(ReviewDataset(tokenizer(train_texts, 16), train_labels), batch_size=16, shuffle=True)
val_loader = DataLoader(ReviewDataset(tokenizer(val_texts, 16), val_labels), batch_size=16)

optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(3):
    model.train()
    running = 0.0
    for batch in train_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.4f} val acc {accuracy(model, val_loader):.3f}")
