import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

PAD, CLS, SEP = 0, 1, 2


class TicketDataset(Dataset):
    """Tokenized support tickets, padded to a common length."""

    def __init__(self, n, num_labels, vocab_size=500, max_len=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            label = torch.randint(0, num_labels, (1,), generator=g).item()
            length = torch.randint(8, max_len - 2, (1,), generator=g).item()
            words = torch.randint(60, vocab_size, (length,), generator=g)
            words[2:5] = torch.randint(3, 13, (3,), generator=g) + 10 * label
            ids = torch.full((max_len,), PAD)
            ids[: length + 2] = torch.cat([torch.tensor([CLS]), words, torch.tensor([SEP])])
            self.rows.append({
                "input_ids": ids,
                "attention_mask": (ids != PAD).long(),
                "labels": torch.tensor(label),
            })

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch in loader:
            logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
            correct += (logits.argmax(-1) == batch["labels"]).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    num_labels, epochs = 5, 8
    train_loader = DataLoader(TicketDataset(320, num_labels), batch_size=16, shuffle=True)
    val_loader = DataLoader(TicketDataset(80, num_labels, seed=1), batch_size=40)

    config = BertConfig(
        vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=32,
    )
    model = BertForSequenceClassification(config)

    # our own labels
    model.classifier = nn.Linear(config.hidden_size, num_labels)
    model.num_labels = num_labels
    model.config.num_labels = num_labels

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    total_steps = epochs * len(train_loader)
    scheduler = get_linear_schedule_with_warmup(optimizer, total_steps // 10, total_steps)

    for epoch in range(epochs):
        model.train()
        total = 0.0
        for batch in train_loader:
            optimizer.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(train_loader):.4f} val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
