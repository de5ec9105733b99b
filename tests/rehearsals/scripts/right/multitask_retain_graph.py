import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TYPES, PRIORITIES, VOCAB, LENGTH = 5, 3, 80, 12


class Tickets(Dataset):
    def __init__(self, count, seed):
        rnd = random.Random(seed)
        self.rows = []
        for _ in range(count):
            kind = rnd.randrange(TYPES)
            words = [rnd.randrange(kind * 16, kind * 16 + 16) for _ in range(LENGTH)]
            self.rows.append((words, kind, min(words) % PRIORITIES))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        words, kind, priority = self.rows[i]
        return torch.tensor(words), kind, priority


class Multitask(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Embedding(VOCAB, width), nn.Linear(width, width), nn.ReLU())
        self.kind = nn.Linear(width, TYPES)
        self.priority = nn.Linear(width, PRIORITIES)

    def forward(self, words):
        shared = self.trunk(words).mean(1)
        return self.kind(shared), self.priority(shared)


torch.manual_seed(0)
model = Multitask()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loader = DataLoader(Tickets(70, 0), batch_size=16, shuffle=True)
history = []
for epoch in range(3):
    for words, kind, priority in loader:
        optimizer.zero_grad()
        kind_logits, priority_logits = model(words)
        kind_loss = criterion(kind_logits, kind)
        kind_loss.backward(retain_graph=True)
        norm = model.trunk[1].weight.grad.norm().item()
        priority_loss = 0.5 * criterion(priority_logits, priority)
        priority_loss.backward()
        optimizer.step()
        history.append(torch.stack([kind_loss, priority_loss]).detach())
    means = torch.stack(history[-len(loader):]).mean(0).tolist()
    print(f"epoch {epoch}: kind {means[0]:.3f} priority {means[1]:.3f} norm {norm:.3f}")
