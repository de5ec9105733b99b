import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DeepMLP(nn.Module):
    def __init__(self, in_dim, hidden, out_dim, depth):
        super().__init__()
        self.inp = nn.Linear(in_dim, hidden)
        self.hidden = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(depth)])
        self.out = nn.Linear(hidden, out_dim)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for layer in self.hidden:
            x = x + torch.relu(layer(x))
        return self.out(x)


torch.manual_seed(4)
x = torch.rand(2000, 2) * 6 - 3
y = torch.sin(x[:, :1] * 2) * torch.cos(x[:, 1:])

train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=64, shuffle=True)
val_x, val_y = x[1600:], y[1600:]

model = DeepMLP(2, 48, 1, depth=4)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.MSELoss()
print("trainable parameters:", sum(p.numel() for p in model.parameters() if p.requires_grad))

for epoch in range(25):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        val = loss_fn(model(val_x), val_y)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: val mse {val.item():.5f}")
