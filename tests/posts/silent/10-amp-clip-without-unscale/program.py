import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16


class TextCNN(nn.Module):
    def __init__(self, vocab=200, dim=32, n_classes=3, kernels=(3, 4, 5)):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 24, k) for k in kernels)
        self.fc = nn.Linear(24 * len(kernels), n_classes)

    def forward(self, tokens):
        e = self.embed(tokens).transpose(1, 2)
        pooled = [torch.relu(conv(e)).amax(dim=-1) for conv in self.convs]
        return self.fc(torch.cat(pooled, dim=1))


def train(model, loader, epochs=3, max_norm=1.0):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler(device)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        seen, total = 0, 0.0
        for tokens, labels in loader:
            tokens, labels = tokens.to(device), labels.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device_type=device, dtype=amp_dtype):
                logits = model(tokens)
                loss = criterion(logits, labels)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            total += loss.item() * labels.size(0)
            seen += labels.size(0)
        print(f"epoch {epoch}: loss {total / seen:.4f}")


def main():
    torch.manual_seed(0)
    tokens = torch.randint(0, 200, (384, 20))
    labels = tokens[:, 0] % 3
    tokens[:, 5] = labels + 100
    loader = DataLoader(TensorDataset(tokens, labels), batch_size=32, shuffle=True, drop_last=True)
    train(TextCNN().to(device), loader)


if __name__ == "__main__":
    main()
