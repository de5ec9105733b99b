import torch
from torch import nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification


class TicketDataset(Dataset):
    def __init__(self, n=64, max_len=24, vocab_size=300):
        g = torch.Generator().manual_seed(11)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(8, max_len, (1,), generator=g))
            label = int(torch.randint(0, 3, (1,), generator=g))
            ids = torch.zeros(max_len, dtype=torch.long)
            ids[:length] = torch.randint(5, vocab_size, (length,), generator=g)
            ids[0] = 1
            ids[1:4] = 10 + label
            self.items.append({
                "input_ids": ids,
                "attention_mask": (ids != 0).long(),
                "label": torch.tensor(label),
            })

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def main():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=300,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        num_labels=3,
    )
    model = BertForSequenceClassification(config)
    loader = DataLoader(TicketDataset(), batch_size=8, shuffle=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = AdamW(model.parameters(), lr=5e-4)

    for epoch in range(3):
        model.train()
        total, correct = 0.0, 0
        for batch in loader:
            optimizer.zero_grad()
            outputs = model(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
            )
            loss = criterion(outputs, batch["label"])
            loss.backward()
            optimizer.step()
            total += loss.item()
            correct += (outputs.argmax(dim=-1) == batch["label"]).sum().item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f} acc {correct / len(loader.dataset):.3f}")


if __name__ == "__main__":
    main()
