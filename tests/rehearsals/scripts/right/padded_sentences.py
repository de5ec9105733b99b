import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD = 0
SYLLABLES = ["ka", "to", "mi", "re", "su", "no", "ha", "ri"]


class Names(Dataset):
    """Spell a name as phonemes: one phoneme for each letter."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.names = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 5))) for _ in range(n)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        letters = [ord(c) - ord("a") + 1 for c in self.names[i]]
        sounds = [(a * 3 + 1) % 11 + 1 for a in letters]
        return torch.tensor(letters), torch.tensor(sounds)


def collate(batch):
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    letters, sounds = zip(*batch)
    lengths = torch.tensor([len(x) for x in letters])
    return (pad_sequence(letters, batch_first=True, padding_value=PAD), lengths,
            pad_sequence(sounds, batch_first=True, padding_value=PAD))


class Speller(nn.Module):
    def __init__(self, letters=27, sounds=12, width=20):
        super().__init__()
        self.embed = nn.Embedding(letters, width, padding_idx=PAD)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1)
        self.out = nn.Linear(2 * width, sounds)

    def forward(self, letters, lengths):
        packed = pack_padded_sequence(self.embed(letters), lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(states)


def run(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    right = total = 0
    with torch.set_grad_enabled(training):
        for letters, lengths, sounds in loader:
            logits = model(letters, lengths)
            loss = criterion(logits.flatten(0, 1), sounds.flatten())
            if training:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_value_(model.parameters(), 0.5)
                optimizer.step()
            real = sounds != PAD
            right += (logits.argmax(-1)[real] == sounds[real]).sum().item()
            total += real.sum().item()
    return right / total


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(Names(64, 0), batch_size=10, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(Names(20, 1), batch_size=7, collate_fn=collate)
    model = Speller()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        train_accuracy = run(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch} train {train_accuracy:.3f} test {run(model, test_loader, criterion):.3f}")
