# %% [markdown]
# # Sentiment of app reviews with BERT

# %%
import re
from collections import Counter

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertModel, get_linear_schedule_with_warmup

RANDOM_SEED = 42
np.random.seed(RANDOM_SEED)
torch.manual_seed(RANDOM_SEED)
MAX_LEN = 24
BATCH_SIZE = 16
EPOCHS = 2
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

# %%
good = ["love this app", "works great", "very useful and fast", "best planner i have used"]
bad = ["keeps crashing", "waste of money", "cannot log in any more", "too many ads"]
meh = ["it is ok", "does what it says", "fine but nothing special"]
class_names = ["negative", "neutral", "positive"]
rows = []
for _ in range(160):
    s = np.random.randint(3)
    rows.append((" . ".join(np.random.choice([bad, meh, good][s], 2)), s))
df = pd.DataFrame(rows, columns=["content", "sentiment"])

# %%
counts = Counter(w for t in df.content for w in re.findall(r"\w+|\.", t))
vocab = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3}
for w, _ in counts.most_common():
    vocab[w] = len(vocab)


def encode_plus(text, max_len):
    ids = [1] + [vocab.get(w, 3) for w in re.findall(r"\w+|\.", text)][: max_len - 2] + [2]
    mask = [1] * len(ids) + [0] * (max_len - len(ids))
    return ids + [0] * (max_len - len(ids)), mask


class GPReviewDataset(Dataset):
    def __init__(self, reviews, targets, max_len):
        self.reviews, self.targets, self.max_len = reviews, targets, max_len

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, item):
        ids, mask = encode_plus(self.reviews[item], self.max_len)
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(mask),
            "targets": torch.tensor(self.targets[item], dtype=torch.long),
        }


def create_data_loader(df, shuffle):
    ds = GPReviewDataset(df.content.to_numpy(), df.sentiment.to_numpy(), MAX_LEN)
    return DataLoader(ds, batch_size=BATCH_SIZE, shuffle=shuffle)


train_data_loader = create_data_loader(df[:128], True)
val_data_loader = create_data_loader(df[128:], False)


# %%
class SentimentClassifier(nn.Module):
    def __init__(self, n_classes):
        super(SentimentClassifier, self).__init__()
        config = BertConfig(vocab_size=len(vocab), hidden_size=64, num_hidden_layers=2,
                            num_attention_heads=4, intermediate_size=128)
        self.bert = BertModel(config)
        self.drop = nn.Dropout(p=0.3)
        self.out = nn.Linear(self.bert.config.hidden_size, n_classes)

    def forward(self, input_ids, attention_mask):
        _, pooled_output = self.bert(input_ids=input_ids, attention_mask=attention_mask)
        output = self.drop(pooled_output)
        return self.out(output)


model = SentimentClassifier(len(class_names)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
total_steps = len(train_data_loader) * EPOCHS
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=0, num_training_steps=total_steps)
loss_fn = nn.CrossEntropyLoss().to(device)

# %%
for epoch in range(EPOCHS):
    model = model.train()
    losses = []
    for d in train_data_loader:
        outputs = model(d["input_ids"].to(device), d["attention_mask"].to(device))
        loss = loss_fn(outputs, d["targets"].to(device))
        losses.append(loss.item())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    model = model.eval()
    correct = 0
    with torch.no_grad():
        for d in val_data_loader:
            outputs = model(d["input_ids"].to(device), d["attention_mask"].to(device))
            correct += (outputs.argmax(dim=1) == d["targets"].to(device)).sum().item()
    print(f"Epoch {epoch + 1}/{EPOCHS} train loss {np.mean(losses):.4f} val acc {correct / 32:.4f}")
