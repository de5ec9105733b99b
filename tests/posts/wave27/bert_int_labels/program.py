import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertModel

MAX_LEN = 24
VOCAB = 500


class ReviewDataset(Dataset):
    def __init__(self, input_ids, lengths, labels):
        self.input_ids = torch.from_numpy(input_ids)
        self.attention_mask = (torch.arange(MAX_LEN)[None, :] < torch.from_numpy(lengths)[:, None]).long()
        self.labels = torch.from_numpy(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {
            "input_ids": self.input_ids[i],
            "attention_mask": self.attention_mask[i],
            "labels": self.labels[i],
        }


class SentimentClassifier(nn.Module):
    def __init__(self, num_labels):
        super().__init__()
        config = BertConfig(
            vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2,
            num_attention_heads=4, intermediate_size=128, max_position_embeddings=MAX_LEN,
        )
        self.bert = BertModel(config)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        pooled = self.bert(input_ids=input_ids, attention_mask=attention_mask).pooler_output
        return self.classifier(self.dropout(pooled))


def load_reviews(n, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(6, MAX_LEN + 1, size=n)
    stars = rng.integers(1, 6, size=n)
    input_ids = rng.integers(5, VOCAB, size=(n, MAX_LEN))
    input_ids[:, 1] = 10 + stars
    input_ids[np.arange(MAX_LEN)[None, :] >= lengths[:, None]] = 0
    sentiment = np.digitize(stars, [3, 4]).astype(np.int32)
    return input_ids.astype(np.int64), lengths, sentiment


def main():
    torch.manual_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(ReviewDataset(*load_reviews(160, 0)), batch_size=16, shuffle=True)

    model = SentimentClassifier(num_labels=3).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    loss_fn = nn.CrossEntropyLoss()

    model.train()
    for epoch in range(3):
        epoch_loss, correct = 0.0, 0
        for batch in train_loader:
            batch = {name: value.to(device) for name, value in batch.items()}
            optimizer.zero_grad()
            logits = model(batch["input_ids"], batch["attention_mask"])
            loss = loss_fn(logits, batch["labels"])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            epoch_loss += loss.item() * logits.size(0)
            correct += (logits.argmax(dim=1) == batch["labels"]).sum().item()
        n = len(train_loader.dataset)
        print(f"epoch {epoch}: loss {epoch_loss / n:.3f} acc {correct / n:.3f}")


if __name__ == "__main__":
    main()
