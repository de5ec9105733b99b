import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from transformers import BertConfig, BertForSequenceClassification


class TicketDataset(Dataset):
    """Tokenized support tickets with a queue label."""

    def __init__(self, n=32, max_len=24, vocab_size=500, num_labels=3):
        g = torch.Generator().manual_seed(0)
        self.input_ids = torch.randint(5, vocab_size, (n, max_len), generator=g)
        lengths = torch.randint(8, max_len + 1, (n,), generator=g)
        self.attention_mask = (torch.arange(max_len)[None, :] < lengths[:, None]).long()
        self.input_ids = self.input_ids * self.attention_mask
        self.labels = torch.randint(0, num_labels, (n,), generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return {
            "input_ids": self.input_ids[idx],
            "attention_mask": self.attention_mask[idx],
            "labels": self.labels[idx],
        }


def get_model():
    config = BertConfig(
        vocab_size=500,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        num_labels=3,
    )
    return BertForSequenceClassification(config)


def train(model, loader, class_weights, epochs=2, lr=5e-4):
    criterion = nn.CrossEntropyLoss(weight=class_weights)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            optimizer.zero_grad()
            outputs = model(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
            )
            loss = criterion(outputs.logits, batch["labels"])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: {total / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(42)
    loader = DataLoader(TicketDataset(), batch_size=8, shuffle=True)
    train(get_model(), loader, class_weights=torch.tensor([1.0, 2.0, 1.5]))
