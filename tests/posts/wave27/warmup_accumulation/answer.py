import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Config:
    epochs = 3
    batch_size = 4
    grad_accumulation = 8
    warmup_steps = 6
    learning_rate = 2e-3
    max_grad_norm = 1.0
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class TextClassifier(nn.Module):
    def __init__(self, vocab=300, dim=64, classes=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 128, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)).mean(dim=1))


def get_scheduler(optimizer, cfg, epoch_steps):
    total_steps = cfg.epochs * epoch_steps

    def factor(step):
        if step < cfg.warmup_steps:
            return (step + 1) / cfg.warmup_steps
        progress = (step - cfg.warmup_steps) / max(1, total_steps - cfg.warmup_steps)
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def make_data(n=512):
    labels = torch.randint(0, 4, (n,))
    tokens = torch.randint(0, 300, (n, 16))
    marker = torch.rand(n, 16) < 0.25
    tokens[marker] = labels.unsqueeze(1).expand(-1, 16)[marker]
    return TensorDataset(tokens, labels)


def run_train(cfg):
    torch.manual_seed(0)
    train_loader = DataLoader(make_data(), batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    model = TextClassifier().to(cfg.device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.learning_rate)
    epoch_steps = len(train_loader) // cfg.grad_accumulation
    scheduler = get_scheduler(optimizer, cfg, epoch_steps)

    used_rates = []
    optimizer.zero_grad()
    for epoch in range(cfg.epochs):
        model.train()
        running = 0.0
        for itr, (tokens, labels) in enumerate(train_loader):
            loss = criterion(model(tokens.to(cfg.device)), labels.to(cfg.device))
            running += loss.item()
            (loss / cfg.grad_accumulation).backward()

            if (itr + 1) % cfg.grad_accumulation == 0:
                nn.utils.clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
                used_rates.append(optimizer.param_groups[0]["lr"])
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
        print(f"epoch {epoch}: loss {running / len(train_loader):.4f}")
    print("updates:", len(used_rates), "first rates:", [round(r, 6) for r in used_rates[:7]])


if __name__ == "__main__":
    run_train(Config())
