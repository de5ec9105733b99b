import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class WindowedCorpus(Dataset):
    def __init__(self, tokens, window):
        self.tokens = tokens
        self.window = window

    def __len__(self):
        return (self.tokens.numel() - 1) // self.window

    def __getitem__(self, i):
        a = i * self.window
        return self.tokens[a:a + self.window], self.tokens[a + 1:a + self.window + 1]


class RNNLanguageModel(nn.Module):
    def __init__(self, ntoken, ninp, nlayers=1, dropout=0.2, tie_weights=True):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, ninp, nlayers, batch_first=True)
        self.decoder = nn.Linear(ninp, ntoken)
        self.init_weights()
        if tie_weights:
            self.decoder.weight = self.encoder.weight

    def init_weights(self, initrange=0.1):
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, ids):
        out, _ = self.rnn(self.drop(self.encoder(ids)))
        return self.decoder(self.drop(out))


def perplexity(model, loader, criterion, device):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for ids, target in loader:
            logits = model(ids.to(device))
            loss = criterion(logits.flatten(0, 1), target.to(device).flatten())
            total += loss.item() * target.numel()
            count += target.numel()
    return torch.tensor(total / count).exp().item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vocab = 80
    stream = (torch.arange(9001) * 7 + torch.randint(0, 3, (9001,))) % vocab
    train = DataLoader(WindowedCorpus(stream[:8001], 20), batch_size=20, shuffle=True)
    valid = DataLoader(WindowedCorpus(stream[8000:], 20), batch_size=20)
    model = RNNLanguageModel(vocab, 48).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        model.train()
        for ids, target in train:
            optimizer.zero_grad()
            loss = criterion(model(ids.to(device)).flatten(0, 1), target.to(device).flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        print(f"| epoch {epoch} | loss {loss.item():.3f} | "
              f"valid ppl {perplexity(model, valid, criterion, device):.2f}")
    print("parameters:", sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    main()
