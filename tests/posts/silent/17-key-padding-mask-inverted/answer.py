import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD_ID = 0
VOCAB_SIZE = 150
MAX_LEN = 20


class IntentDataset(Dataset):
    def __init__(self, n=256):
        self.ids = torch.full((n, MAX_LEN), PAD_ID)
        self.labels = torch.randint(0, 4, (n,))
        lengths = torch.randint(4, MAX_LEN - 1, (n,))
        for i in range(n):
            self.ids[i, :lengths[i]] = torch.randint(10, VOCAB_SIZE, (int(lengths[i]),))
            self.ids[i, 2] = self.labels[i] + 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        ids = self.ids[i]
        return {"input_ids": ids, "attention_mask": ids != PAD_ID, "label": self.labels[i]}


class IntentClassifier(nn.Module):
    def __init__(self, d_model=32, nhead=4, num_layers=2, n_classes=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB_SIZE, d_model, padding_idx=PAD_ID)
        self.pos = nn.Parameter(torch.zeros(1, MAX_LEN, d_model))
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(d_model, n_classes)

    def forward(self, input_ids, attention_mask):
        x = self.embed(input_ids) + self.pos
        h = self.encoder(x, src_key_padding_mask=~attention_mask)
        m = attention_mask.unsqueeze(-1).float()
        pooled = (h * m).sum(1) / m.sum(1)
        return self.classifier(pooled)


def main():
    torch.manual_seed(0)
    loader = DataLoader(IntentDataset(), batch_size=32, shuffle=True)
    model = IntentClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        model.train()
        n_correct = 0
        for batch in loader:
            logits = model(batch["input_ids"], batch["attention_mask"])
            loss = criterion(logits, batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            n_correct += (logits.argmax(-1) == batch["label"]).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} acc {n_correct / 256:.3f}")


main()
