import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import RobertaConfig, RobertaForSequenceClassification

QUEUES = ["billing", "shipping", "returns", "account"]
KEYWORDS = {
    "billing": ["invoice", "charged", "payment", "refund", "card"],
    "shipping": ["parcel", "courier", "tracking", "delayed", "address"],
    "returns": ["broken", "exchange", "size", "label", "send"],
    "account": ["password", "login", "email", "delete", "locked"],
}
FILLERS = "hello please i my the was order when can you help thanks still not week".split()
MAX_LEN = 32


class WordTokenizer:
    def __init__(self, words):
        self.ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        for w in words:
            self.ids.setdefault(w, len(self.ids))

    def __len__(self):
        return len(self.ids)

    def __call__(self, text):
        ids = [0] + [self.ids.get(w, 3) for w in text.split()][:MAX_LEN - 2] + [2]
        mask = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
        ids = ids + [1] * (MAX_LEN - len(ids))
        return torch.tensor(ids), torch.tensor(mask)


class Emails(Dataset):
    def __init__(self, n, tokenizer, seed):
        rng = np.random.default_rng(seed)
        self.tokenizer = tokenizer
        self.labels = rng.integers(0, len(QUEUES), n)
        self.texts = []
        for label in self.labels:
            words = list(rng.choice(KEYWORDS[QUEUES[label]], 3)) + list(rng.choice(FILLERS, rng.integers(10, 40)))
            rng.shuffle(words)
            self.texts.append(" ".join(words))

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        ids, mask = self.tokenizer(self.texts[i])
        return {"input_ids": ids, "attention_mask": mask, "label": torch.tensor(self.labels[i])}


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch in loader:
            outputs = model(batch["input_ids"], attention_mask=batch["attention_mask"])
            correct += (outputs.logits.argmax(dim=-1) == batch["label"]).sum().item()
    return correct / len(loader)


torch.manual_seed(42)
tokenizer = WordTokenizer(FILLERS + [w for ws in KEYWORDS.values() for w in ws])
train_loader = DataLoader(Emails(480, tokenizer, seed=1), batch_size=16, shuffle=True)
val_loader = DataLoader(Emails(96, tokenizer, seed=2), batch_size=16)

config = RobertaConfig(
    vocab_size=len(tokenizer),
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    max_position_embeddings=MAX_LEN,
    num_labels=len(QUEUES),
)
model = RobertaForSequenceClassification(config)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(4):
    model.train()
    running_loss = 0.0
    for batch in train_loader:
        optimizer.zero_grad()
        outputs = model(batch["input_ids"], attention_mask=batch["attention_mask"])
        loss = criterion(outputs, batch["label"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running_loss += loss.item()
    print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.3f}, accuracy {evaluate(model, val_loader):.3f}")
