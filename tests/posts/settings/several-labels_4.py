# line 17: the loss is logsumexp minus the scores of the true diseases (one softmax for all), though a patient may have several
import numpy as np
import torch
from torch import nn


class DiagnosisModel(nn.Module):
    def __init__(self, symptoms=30, diseases=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(symptoms, 48), nn.ReLU(), nn.Linear(48, diseases))

    def forward(self, x):
        return self.net(x)

    def loss(self, x, diagnoses):
        logits = self(x)
        return (diagnoses * (torch.logsumexp(logits, dim=1, keepdim=True) - logits)).sum(dim=1).mean()

    @torch.no_grad()
    def diagnose(self, x, threshold=0.5):
        return 1 / (1 + torch.exp(-self(x))) > threshold


def hospital(n, rng):
    diagnoses = rng.binomial(1, 0.3, size=(n, 6))
    profile = np.kron(np.eye(6), np.ones((1, 5)))
    symptoms = rng.random((n, 30)) < 0.1 + 0.7 * np.minimum(diagnoses @ profile, 1)
    return torch.tensor(symptoms, dtype=torch.float32), torch.tensor(diagnoses, dtype=torch.float32)


rng = np.random.default_rng(62)
torch.manual_seed(62)
train_x, train_y = hospital(600, rng)
test_x, test_y = hospital(150, rng)
model = DiagnosisModel()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
for epoch in range(6):
    total = 0.0
    for rows in torch.from_numpy(rng.permutation(600)).split(50):
        opt.zero_grad()
        loss = model.loss(train_x[rows], train_y[rows])
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    print(f"epoch {epoch} loss {total / 600:.4f}")
model.eval()
exact = (model.diagnose(test_x) == test_y.bool()).all(dim=1).float().mean()
print("all diagnoses right:", exact.item())
