import torch
from torch.utils.data import Dataset, DataLoader
from transformers import DistilBertConfig, DistilBertForSequenceClassification

MAX_LEN = 24
VOCAB = 200
CLS, SEP, PAD = 1, 2, 0


class IntentDataset(Dataset):
    def __init__(self, n, num_labels, seed):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for _ in range(n):
            label = torch.randint(num_labels, (1,), generator=g).item()
            length = torch.randint(6, MAX_LEN - 2, (1,), generator=g).item()
            words = torch.randint(10 + 40 * label, 50 + 40 * label, (length,), generator=g)
            ids = [CLS] + words.tolist() + [SEP]
            mask = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
            ids = ids + [PAD] * (MAX_LEN - len(ids))
            self.samples.append({"input_ids": ids, "attention_mask": mask, "label": label})

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        return {k: torch.tensor(v) for k, v in self.samples[idx].items()}


def train_epoch(model, loader, optimizer, device):
    model.train()
    total = 0.0
    for batch in loader:
        input_ids = batch["input_ids"].to(device)
        attention_mask = batch["attention_mask"].to(device)
        labels = batch["label"].to(device)
        optimizer.zero_grad()
        outputs = model(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        loss = outputs.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = 0
    for batch in loader:
        logits = model(input_ids=batch["input_ids"].to(device),
                       attention_mask=batch["attention_mask"].to(device)).logits
        correct += (logits.argmax(-1).cpu() == batch["label"]).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = DistilBertConfig(vocab_size=VOCAB, dim=64, hidden_dim=128, n_layers=2, n_heads=4,
                              max_position_embeddings=MAX_LEN, num_labels=4)
    model = DistilBertForSequenceClassification(config).to(device)
    train_loader = DataLoader(IntentDataset(320, 4, 0), batch_size=32, shuffle=True)
    val_loader = DataLoader(IntentDataset(80, 4, 1), batch_size=32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        loss = train_epoch(model, train_loader, optimizer, device)
        print(f"epoch {epoch + 1} | train loss {loss:.3f} | val acc {evaluate(model, val_loader, device):.3f}")


if __name__ == "__main__":
    main()
