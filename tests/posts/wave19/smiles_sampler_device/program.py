import argparse
import os

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

SMILES = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCOC", "CC(C)O", "C1CCCCC1", "CCCl", "CNC", "OCCO",
          "CC#N", "c1ccncc1", "CC(C)C", "COC", "NCCO", "CC=O", "CCBr", "C1CCOC1", "CSC", "CCF"] * 16


def get_device():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Vocabulary:
    def __init__(self, strings):
        self.tokens = ["<pad>", "^", "$"] + sorted(set("".join(strings)))
        self.index = {t: i for i, t in enumerate(self.tokens)}

    def encode(self, s):
        return torch.tensor([self.index["^"]] + [self.index[c] for c in s] + [self.index["$"]])

    def decode(self, ids):
        out = []
        for i in ids:
            if self.tokens[i] == "$":
                break
            out.append(self.tokens[i])
        return "".join(out)

    def __len__(self):
        return len(self.tokens)


class SmilesDataset(Dataset):
    def __init__(self, strings, vocab):
        self.items = [vocab.encode(s) for s in strings]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    return pad_sequence(batch, batch_first=True, padding_value=0)


class RNN(nn.Module):
    def __init__(self, vocab_size, emb=32, hidden=64, layers=2):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, vocab_size)

    def forward(self, tokens, state=None):
        if state is None:
            state = torch.zeros(self.layers, tokens.size(0), self.hidden, device=get_device())
        x = self.embedding(tokens)
        x, state = self.gru(x, state)
        return self.out(x), state


@torch.no_grad()
def sample(model, vocab, n, max_len=20):
    model.eval()
    device = next(model.parameters()).device
    tokens = torch.full((n, 1), vocab.index["^"], dtype=torch.long, device=device)
    state, generated = None, []
    for _ in range(max_len):
        logits, state = model(tokens, state)
        probs = torch.softmax(logits[:, -1], dim=-1)
        tokens = torch.multinomial(probs, 1)
        generated.append(tokens)
    return [vocab.decode(row.tolist()) for row in torch.cat(generated, dim=1)]


def train(model, loader, epochs, lr, device):
    model.to(device)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for batch in loader:
            batch = batch.to(device)
            logits, _ = model(batch[:, :-1])
            loss = criterion(logits.reshape(-1, logits.size(-1)), batch[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--n-samples", type=int, default=10)
    parser.add_argument("--checkpoint", default="smiles_rnn.pt")
    args = parser.parse_args()
    torch.manual_seed(0)

    vocab = Vocabulary(SMILES)
    loader = DataLoader(SmilesDataset(SMILES, vocab), batch_size=32, shuffle=True, collate_fn=collate)
    model = RNN(len(vocab))
    train(model, loader, args.epochs, 5e-3, get_device())
    torch.save(model.state_dict(), args.checkpoint)

    prior = RNN(len(vocab))
    prior.load_state_dict(torch.load(args.checkpoint, map_location="cpu"))
    os.remove(args.checkpoint)
    for smiles in sample(prior, vocab, args.n_samples):
        print(smiles)


if __name__ == "__main__":
    main()
