import string

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(5)

ALPHABET = "_" + string.ascii_lowercase + " "
char_to_id = {c: i for i, c in enumerate(ALPHABET)}
BLANK = 0
N_MELS = 40
PHRASES = ["turn on", "turn off", "stop", "go left", "go right", "play music"]
prototypes = torch.randn(len(ALPHABET), N_MELS)


class SpeechDataset(Dataset):
    def __init__(self, n):
        self.items = []
        for i in range(n):
            text = PHRASES[i % len(PHRASES)]
            ids = torch.tensor([char_to_id[c] for c in text])
            frames = prototypes[ids].repeat_interleave(6, dim=0)
            self.items.append((frames + 0.3 * torch.randn_like(frames), ids))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


def collate(batch):
    specs = [b[0] for b in batch]
    labels = [b[1] for b in batch]
    input_lengths = torch.tensor([len(s) for s in specs])
    label_lengths = torch.tensor([len(l) for l in labels])
    return (pad_sequence(specs, batch_first=True), pad_sequence(labels, batch_first=True),
            input_lengths, label_lengths)


class Acoustic(nn.Module):
    def __init__(self, n_mels, hidden, n_chars):
        super().__init__()
        self.rnn = nn.GRU(n_mels, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(hidden * 2, n_chars)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out)


def greedy_decode(log_probs):
    ids = torch.unique_consecutive(log_probs.argmax(dim=-1))
    return "".join(ALPHABET[i] for i in ids.tolist() if i != BLANK)


def train(model, loader, epochs):
    criterion = nn.CTCLoss(blank=BLANK)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for specs, labels, input_lengths, label_lengths in loader:
            optimizer.zero_grad()
            logits = model(specs)
            log_probs = logits.log_softmax(dim=-1).transpose(0, 1)
            loss = criterion(log_probs, labels, input_lengths, label_lengths)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1:2d}  ctc loss {total / len(loader):.3f}")


if __name__ == "__main__":
    train_loader = DataLoader(SpeechDataset(180), batch_size=12, shuffle=True, collate_fn=collate)
    test_set = SpeechDataset(6)
    model = Acoustic(N_MELS, 64, len(ALPHABET))
    train(model, train_loader, epochs=8)
    model.eval()
    with torch.no_grad():
        for spec, ids in test_set:
            text = "".join(ALPHABET[i] for i in ids.tolist())
            print(f"{text!r:>14} -> {greedy_decode(model(spec.unsqueeze(0))[0])!r}")
