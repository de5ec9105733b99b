import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MultiTaskNet(nn.Module):
    """shared trunk, one head per task: age (regression), gender (2), emotion (7)"""

    def __init__(self, in_dim=128, hidden=64, head_sizes=(1, 2, 7)):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(in_dim, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
        )
        self.heads = nn.ModuleList([nn.Linear(hidden, n) for n in head_sizes])
        self.log_vars = nn.Parameter(torch.zeros(len(head_sizes)))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]

    def combine(self, losses):
        total = 0.0
        for i, task_loss in enumerate(losses):
            total = total + torch.exp(-self.log_vars[i]) * task_loss + self.log_vars[i]
        return total


# face embeddings computed beforehand
n = 600
emb = torch.randn(n, 128)
w = torch.randn(128, 1) / 12
age = emb @ w + 0.1 * torch.randn(n, 1)
gender = (emb[:, 0] > 0).long()
emotion = emb[:, :7].argmax(1)
loader = DataLoader(TensorDataset(emb, age, gender, emotion), batch_size=50, shuffle=True)

model = MultiTaskNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
print("trainable parameters:", sum(p.numel() for p in model.parameters()))

for epoch in range(8):
    model.train()
    sums = [0.0, 0.0, 0.0]
    for x, a, g, e in loader:
        out_age, out_gender, out_emotion = model(x)
        losses = [
            F.mse_loss(out_age, a),
            F.cross_entropy(out_gender, g),
            F.cross_entropy(out_emotion, e),
        ]
        loss = model.combine(losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for k in range(3):
            sums[k] += losses[k].item()
    print(f"epoch {epoch}: age {sums[0] / len(loader):.3f} gender {sums[1] / len(loader):.3f} "
          f"emotion {sums[2] / len(loader):.3f}")
