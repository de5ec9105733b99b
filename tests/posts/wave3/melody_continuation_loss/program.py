import torch
import torch.nn as nn

NUM_NOTES = 90


class MelodyRNN(nn.Module):
    """Next note at every step of a melody."""

    def __init__(self, num_classes=NUM_NOTES, emb=48, hidden=128):
        super().__init__()
        self.emb = nn.Embedding(num_classes, emb)
        self.rnn = nn.GRU(emb, hidden, num_layers=2, batch_first=True, dropout=0.2)
        self.norm = nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, num_classes)

    def forward(self, notes, state=None):
        h, state = self.rnn(self.emb(notes), state)
        return self.out(self.norm(h)), state


class MelodyTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = MelodyRNN()
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, melody):
        inputs, targets = melody[:, :-1], melody[:, 1:]
        scores, _ = self.model(inputs)
        loss = self.criterion(scores, targets)
        return loss
