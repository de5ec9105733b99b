import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

TOPICS = ["world", "sports", "business", "tech"]
MAX_LEN = 32


class ToyTokenizer:
    def __init__(self, texts):
        vocab = sorted({w for t in texts for w in t.split()})
        self.vocab = {w: i + 2 for i, w in enumerate(vocab)}

    def __call__(self, text, max_length):
        ids = [self.vocab.get(w, 1) for w in text.split()][:max_length]
        pad = max_length - len(ids)
        return {
            "input_ids": torch.tensor(ids + [0] * pad),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
        }


class NewsDataset(Dataset):
    def __init__(self, texts, labels, tokenizer, max_len=MAX_LEN):
        self.texts, self.labels = texts, labels
        self.tokenizer, self.max_len = tokenizer, max_len

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        enc = self.tokenizer(self.texts[idx], max_length=self.max_len)
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": torch.tensor(self.labels[idx]),
        }


class NewsClassifier(nn.Module):
    def __init__(self, vocab_size, dim=64, n_classes=4):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.fc = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Dropout(0.1), nn.Linear(dim, n_classes))

    def forward(self, input_ids, attention_mask):
        m = attention_mask.unsqueeze(-1).float()
        pooled = (self.emb(input_ids) * m).sum(1) / m.sum(1).clamp(min=1)
        return self.fc(pooled)


torch.manual_seed(0)
words = [f"w{i}" for i in range(120)]
texts = [" ".join(words[j] for j in torch.randint(0, 120, (int(n),))) for n in torch.randint(5, 40, (200,))]
labels = torch.randint(0, len(TOPICS), (200,)).tolist()

tokenizer = ToyTokenizer(texts)
train_loader = DataLoader(NewsDataset(texts, labels, tokenizer), batch_size=16, shuffle=True)

device = torch.device("cpu")
model = NewsClassifier(len(tokenizer.vocab) + 2).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(2):
    model.train()
    running = 0.0
    for step, (input_ids, attention_mask, targets) in enumerate(train_loader):
        input_ids = input_ids.to(device)
        attention_mask = attention_mask.to(device)
        targets = targets.to(device)

        optimizer.zero_grad()
        logits = model(input_ids, attention_mask)
        loss = loss_fn(logits, targets)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running / (step + 1):.4f}")
