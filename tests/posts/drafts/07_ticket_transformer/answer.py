import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

PAD = 0
VOCAB = 40
MAX_LEN = 40


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=MAX_LEN):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class TicketClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model, nhead, num_layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, nhead, dim_feedforward=256, dropout=0.1,
            activation="gelu", batch_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(d_model, n_classes)

    def forward(self, tokens):
        padding_mask = tokens == PAD
        x = self.pos(self.embed(tokens) * math.sqrt(self.embed.embedding_dim))
        x = self.encoder(x, src_key_padding_mask=padding_mask)
        return self.classifier(x[:, 0])


def make_tickets(n):
    tokens = torch.randint(1, VOCAB, (n, MAX_LEN))
    lengths = torch.randint(5, MAX_LEN - 4, (n, 1))
    tokens[torch.arange(MAX_LEN).unsqueeze(0) >= lengths] = PAD
    labels = tokens[:, 1] % 4
    return TensorDataset(tokens, labels)


def main():
    torch.manual_seed(3)
    train_loader = DataLoader(make_tickets(640), batch_size=32, shuffle=True)
    test_loader = DataLoader(make_tickets(96), batch_size=32)

    model = TicketClassifier(VOCAB, n_classes=4, d_model=100, nhead=4)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)

    for epoch in range(6):
        model.train()
        for tokens, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        model.eval()
        correct = 0
        with torch.no_grad():
            for tokens, labels in test_loader:
                correct += (model(tokens).argmax(1) == labels).sum().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, test acc {correct / len(test_loader.dataset):.3f}")


if __name__ == "__main__":
    main()
