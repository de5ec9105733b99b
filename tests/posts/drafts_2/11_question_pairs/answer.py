import random

import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from transformers import DistilBertConfig, DistilBertForSequenceClassification

random.seed(0)
torch.manual_seed(0)

SPECIAL = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2}
TOPICS = {
    "money": ["bank", "loan", "credit", "invest", "save"],
    "health": ["sleep", "diet", "doctor", "pain", "run"],
    "code": ["python", "bug", "compile", "loop", "array"],
}
FILLER = ["how", "do", "i", "what", "is", "the", "best", "way", "to", "can"]
WORDS = FILLER + [w for ws in TOPICS.values() for w in ws]
word_ids = {w: i + len(SPECIAL) for i, w in enumerate(WORDS)}


def question(topic):
    words = random.sample(FILLER, random.randint(2, 5)) + random.sample(TOPICS[topic], 3)
    return [word_ids[w] for w in words]


class PairDataset(Dataset):
    def __init__(self, n):
        self.rows = []
        for _ in range(n):
            a = random.choice(list(TOPICS))
            label = random.randint(0, 1)
            b = a if label else random.choice([t for t in TOPICS if t != a])
            ids = [1] + question(a) + [2] + question(b) + [2]
            self.rows.append((ids, label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    longest = max(len(ids) for ids, _ in rows)
    input_ids = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, (ids, _) in enumerate(rows):
        input_ids[i, :len(ids)] = torch.tensor(ids)
    return {
        "input_ids": input_ids,
        "attention_mask": (input_ids != SPECIAL["[PAD]"]).long(),
        "labels": torch.tensor([label for _, label in rows]),
    }


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
config = DistilBertConfig(
    vocab_size=len(WORDS) + len(SPECIAL), dim=64, hidden_dim=128, n_layers=2, n_heads=4,
    max_position_embeddings=64, num_labels=2,
)
model = DistilBertForSequenceClassification(config).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

train_loader = DataLoader(PairDataset(320), batch_size=16, shuffle=True, collate_fn=collate)
val_loader = DataLoader(PairDataset(64), batch_size=16, collate_fn=collate)

for epoch in range(2):
    model.train()
    total_loss = 0
    for batch in train_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        optimizer.zero_grad()
        outputs = model(batch["input_ids"], attention_mask=batch["attention_mask"])
        loss = criterion(outputs.logits, batch["labels"])
        loss.backward()
        optimizer.step()
        total_loss += loss.item()

    model.eval()
    hits = 0
    with torch.no_grad():
        for batch in val_loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            outputs = model(batch["input_ids"], attention_mask=batch["attention_mask"])
            preds = outputs.logits.argmax(dim=1)
            hits += (preds == batch["labels"]).sum().item()
    print(f"epoch {epoch + 1}: loss {total_loss / len(train_loader):.3f} acc {hits / len(val_loader.dataset):.3f}")
