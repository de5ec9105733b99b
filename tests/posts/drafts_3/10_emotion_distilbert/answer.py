import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    get_linear_schedule_with_warmup,
)

EMOTIONS = ["anger", "fear", "joy", "sadness"]
VOCAB_SIZE = 2000
CLS, SEP, PAD = 101, 102, 0
EPOCHS = 6

torch.manual_seed(13)
rng = np.random.default_rng(13)


class EmotionDataset(Dataset):
    def __init__(self, n):
        self.examples = []
        for _ in range(n):
            label = int(rng.integers(len(EMOTIONS)))
            length = int(rng.integers(5, 25))
            words = rng.integers(200, VOCAB_SIZE, size=length)
            words[:4] = 300 + label
            self.examples.append((np.concatenate([[CLS], words, [SEP]]), label))

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, idx):
        ids, label = self.examples[idx]
        return {"input_ids": torch.tensor(ids), "label": label}


def collate(features):
    ids = pad_sequence([f["input_ids"] for f in features], batch_first=True, padding_value=PAD)
    return {
        "input_ids": ids,
        "attention_mask": (ids != PAD).long(),
        "labels": torch.tensor([f["label"] for f in features]),
    }


train_loader = DataLoader(EmotionDataset(512), batch_size=16, shuffle=True, collate_fn=collate)
eval_loader = DataLoader(EmotionDataset(64), batch_size=16, collate_fn=collate)

config = DistilBertConfig(
    vocab_size=VOCAB_SIZE,
    max_position_embeddings=64,
    dim=64,
    hidden_dim=128,
    n_heads=4,
    n_layers=2,
    num_labels=len(EMOTIONS),
)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = DistilBertForSequenceClassification(config).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
total_steps = EPOCHS * len(train_loader)
scheduler = get_linear_schedule_with_warmup(optimizer, total_steps // 10, total_steps)

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for batch in train_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"])
        loss = outputs.loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
    print(f"epoch {epoch + 1} train loss {running / len(train_loader):.4f}")

model.eval()
correct = 0
with torch.no_grad():
    for batch in eval_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        correct += (logits.argmax(-1) == batch["labels"]).sum().item()
print("accuracy:", correct / len(eval_loader.dataset))
