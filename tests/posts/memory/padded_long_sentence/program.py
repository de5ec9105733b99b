import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB = 10000
MAX_LENGTH = 500


class Sentences(Dataset):
    def __init__(self, n=5120):
        generator = torch.Generator().manual_seed(0)
        self.lengths = [8 + (7 * i) % 33 for i in range(n)]
        for i in range(0, n, 640):
            self.lengths[i] = 500
        self.tokens = [torch.randint(1, VOCAB, (length,), generator=generator) for length in self.lengths]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i][:MAX_LENGTH]


class LanguageModel(nn.Module):
    def __init__(self, dim=512):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        return self.out(states)


def collate(sentences):
    return pad_sequence(sentences, batch_first=True)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(Sentences(), batch_size=320, shuffle=True, collate_fn=collate)
model = LanguageModel().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for tokens in loader:
        tokens = tokens.to(device)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "perplexity", loss.exp().item())
