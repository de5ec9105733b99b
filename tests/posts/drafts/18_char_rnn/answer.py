# Character level language model
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1337)

TEXT = (
    "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. "
    "how vexingly quick daft zebras jump. sphinx of black quartz, judge my vow. "
) * 12

SEQ_LEN = 25
BATCH_SIZE = 32
HIDDEN = 96

chars = sorted(set(TEXT))
char2idx = {c: i for i, c in enumerate(chars)}
idx2char = {i: c for c, i in char2idx.items()}


class CharDataset(Dataset):
    def __init__(self, text, seq_len):
        self.data = torch.tensor([char2idx[c] for c in text])
        self.seq_len = seq_len

    def __len__(self):
        return (len(self.data) - 1) // self.seq_len

    def __getitem__(self, i):
        start = i * self.seq_len
        chunk = self.data[start:start + self.seq_len + 1]
        return chunk[:-1], chunk[1:]


class CharRNN(nn.Module):
    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab_size, 32)
        self.gru = nn.GRU(32, hidden_size, batch_first=True)
        self.decoder = nn.Linear(hidden_size, vocab_size)

    def forward(self, x, hidden):
        out, hidden = self.gru(self.embedding(x), hidden)
        return self.decoder(out), hidden

    def init_hidden(self, batch_size):
        return torch.zeros(1, batch_size, self.hidden_size)


@torch.no_grad()
def generate(model, prompt, length=60, temperature=0.8):
    model.eval()
    hidden = model.init_hidden(1)
    x = torch.tensor([[char2idx[c] for c in prompt]])
    result = prompt
    for _ in range(length):
        logits, hidden = model(x, hidden)
        probs = torch.softmax(logits[0, -1] / temperature, dim=-1)
        idx = torch.multinomial(probs, 1).item()
        result += idx2char[idx]
        x = torch.tensor([[idx]])
    return result


loader = DataLoader(CharDataset(TEXT, SEQ_LEN), batch_size=BATCH_SIZE, shuffle=True)
model = CharRNN(len(chars), HIDDEN)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(30):
    model.train()
    total = 0.0
    for x, y in loader:
        hidden = model.init_hidden(x.size(0))
        logits, hidden = model(x, hidden)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
    if (epoch + 1) % 10 == 0:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}")
        print("   ", generate(model, "the "))
