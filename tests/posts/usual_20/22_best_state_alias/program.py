import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def make_graph(n=200, n_feat=32, n_classes=4):
    y = torch.randint(0, n_classes, (n,))
    centers = torch.randn(n_classes, n_feat) * 0.35
    x = centers[y] + torch.randn(n, n_feat)
    same = (y.unsqueeze(0) == y.unsqueeze(1)).float()
    prob = 0.02 + 0.05 * same
    adj = (torch.rand(n, n) < prob).float().triu(1)
    adj = adj + adj.t() + torch.eye(n)
    deg = adj.sum(1).pow(-0.5)
    return x, y, deg.unsqueeze(1) * adj * deg.unsqueeze(0)


class GCN(nn.Module):
    def __init__(self, n_feat, hidden, n_classes):
        super().__init__()
        self.lin1 = nn.Linear(n_feat, hidden)
        self.lin2 = nn.Linear(hidden, n_classes)

    def forward(self, x, a):
        h = F.relu(a @ self.lin1(x))
        h = F.dropout(h, 0.3, training=self.training)
        return a @ self.lin2(h)


x, y, a = make_graph()
perm = torch.randperm(len(y))
train_idx, val_idx, test_idx = perm[:40], perm[40:100], perm[100:]

model = GCN(32, 64, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)


@torch.no_grad()
def evaluate(idx):
    model.eval()
    logits = model(x, a)[idx]
    return F.cross_entropy(logits, y[idx]).item(), (logits.argmax(1) == y[idx]).float().mean().item()


best_val = float("inf")
best_state = None
for epoch in range(200):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, a)[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()

    val_loss, val_acc = evaluate(val_idx)
    if val_loss < best_val:
        best_val = val_loss
        best_state = model.state_dict()
        print(f"epoch {epoch}: new best val loss {val_loss:.4f} acc {val_acc:.3f}")

model.load_state_dict(best_state)
val_loss, val_acc = evaluate(val_idx)
test_loss, test_acc = evaluate(test_idx)
print(f"best model: val loss {val_loss:.4f} test loss {test_loss:.4f} test acc {test_acc:.3f}")
