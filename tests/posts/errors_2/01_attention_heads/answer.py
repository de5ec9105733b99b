import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

VOCAB = 500
CONFIG = {
    "d_model": 100,
    "n_heads": 10,
    "n_layers": 2,
    "dropout": 0.1,
    "lr": 3e-4,
    "epochs": 2,
}


class SentimentEncoder(nn.Module):
    def __init__(self, vocab, d_model, n_heads, n_layers, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            d_model, n_heads, dim_feedforward=4 * d_model, dropout=dropout, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, n_layers)
        self.head = nn.Linear(d_model, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.encoder(x)
        return self.head(x.mean(dim=1))


tokens = torch.randint(1, VOCAB, (256, 20))
labels = (tokens.float().mean(1) > VOCAB / 2).long()
loader = DataLoader(TensorDataset(tokens, labels), batch_size=32, shuffle=True)

model = SentimentEncoder(
    VOCAB, CONFIG["d_model"], CONFIG["n_heads"], CONFIG["n_layers"], CONFIG["dropout"]
)
optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["lr"])
criterion = nn.CrossEntropyLoss()

for epoch in range(CONFIG["epochs"]):
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running / len(loader):.4f}")
