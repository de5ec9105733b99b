import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset

MAX_LEN = 60
PAD_LABEL = -100
N_ACTIVITIES = 6


class WearableDataset(Dataset):
    """Accelerometer sequences; one activity label per time step, padded to MAX_LEN."""

    def __init__(self, n=96, n_channels=6):
        g = torch.Generator().manual_seed(0)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(15, 50, (1,), generator=g))
            signal = torch.zeros(MAX_LEN, n_channels)
            signal[:length] = torch.randn(length, n_channels, generator=g)
            labels = torch.full((MAX_LEN,), PAD_LABEL, dtype=torch.long)
            labels[:length] = torch.randint(0, N_ACTIVITIES, (length,), generator=g)
            self.items.append((signal, labels, length))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class ActivityGRU(nn.Module):
    def __init__(self, n_channels=6, hidden=48):
        super().__init__()
        self.gru = nn.GRU(n_channels, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * hidden, N_ACTIVITIES)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        out, _ = self.gru(packed)
        out, _ = pad_packed_sequence(
            out, batch_first=True, total_length=x.size(1)
        )
        return self.fc(self.dropout(out))


torch.manual_seed(0)
loader = DataLoader(WearableDataset(), batch_size=16, shuffle=True)
model = ActivityGRU()
criterion = nn.CrossEntropyLoss(ignore_index=PAD_LABEL)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    model.train()
    running = 0.0
    for signal, labels, lengths in loader:
        optimizer.zero_grad()
        logits = model(signal, lengths)
        loss = criterion(logits.reshape(-1, N_ACTIVITIES), labels.reshape(-1))
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running / len(loader):.4f}")
