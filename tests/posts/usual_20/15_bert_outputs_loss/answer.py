import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)


class TweetDataset(Dataset):
    def __init__(self, n=96, max_len=24, vocab_size=500):
        self.input_ids = torch.zeros(n, max_len, dtype=torch.long)
        self.attention_mask = torch.zeros(n, max_len, dtype=torch.long)
        self.labels = torch.randint(0, 3, (n,))
        for i in range(n):
            length = torch.randint(6, max_len + 1, (1,)).item()
            low = 5 + 100 * self.labels[i].item()
            self.input_ids[i, :length] = torch.randint(low, low + 150, (length,))
            self.attention_mask[i, :length] = 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {
            "input_ids": self.input_ids[i],
            "attention_mask": self.attention_mask[i],
            "label": self.labels[i],
        }


config = BertConfig(
    vocab_size=500,
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    max_position_embeddings=64,
    num_labels=3,
)
model = BertForSequenceClassification(config)
loader = DataLoader(TweetDataset(), batch_size=16, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
criterion = nn.CrossEntropyLoss()
device = "cuda" if torch.cuda.is_available() else "cpu"
model.to(device)

for epoch in range(2):
    model.train()
    total_loss = 0
    for batch in loader:
        input_ids = batch["input_ids"].to(device)
        attention_mask = batch["attention_mask"].to(device)
        labels = batch["label"].to(device)

        optimizer.zero_grad()
        outputs = model(input_ids, attention_mask=attention_mask)
        loss = criterion(outputs.logits, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total_loss += loss.item()
    print(f"Epoch {epoch + 1}: {total_loss / len(loader):.4f}")
