import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(17)

N_NOTES = 48
SEQ_LEN = 32


class BeatsNotesDataset(Dataset):
    def __init__(self, n):
        start = torch.randint(0, N_NOTES, (n, 1))
        stride = torch.randint(1, 4, (n, 1))
        self.notes = (start + stride * torch.arange(SEQ_LEN + 1)) % N_NOTES
        self.beats = torch.stack([
            stride.expand(n, SEQ_LEN).float() / 4,
            torch.rand(n, SEQ_LEN) * 0.1,
        ], dim=-1)

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, idx):
        return self.beats[idx], self.notes[idx, :-1], self.notes[idx, 1:]


class DeepBeats(nn.Module):
    def __init__(self, embed_dim=24, hidden_dim=64):
        super().__init__()
        self.note_embedding = nn.Embedding(N_NOTES, embed_dim)
        self.beat_fc = nn.Linear(2, 8)
        self.gru = nn.GRU(embed_dim + 8, hidden_dim, num_layers=2, batch_first=True)
        self.notes_output = nn.Linear(hidden_dim, N_NOTES)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, beats, prev_notes, state=None):
        x = torch.cat([self.note_embedding(prev_notes), torch.relu(self.beat_fc(beats))], dim=-1)
        x, state = self.gru(x, state)
        return self.notes_output(x), state

    def loss_function(self, pred, target):
        return self.criterion(pred, target)


def evaluate(model, loader):
    model.eval()
    hits, count = 0, 0
    with torch.no_grad():
        for beats, prev_notes, target in loader:
            pred, _ = model(beats.to(device), prev_notes.to(device))
            hits += (pred.argmax(-1).cpu() == target).sum().item()
            count += target.numel()
    return hits / count


def train(model, epochs=5):
    train_loader = DataLoader(BeatsNotesDataset(512), batch_size=32, shuffle=True)
    val_loader = DataLoader(BeatsNotesDataset(64), batch_size=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for beats, prev_notes, target in train_loader:
            beats, prev_notes, target = beats.to(device), prev_notes.to(device), target.to(device)
            pred, _ = model(beats, prev_notes)
            loss = model.loss_function(pred, target)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train_loader):.4f}, accuracy {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    train(DeepBeats().to(device))
