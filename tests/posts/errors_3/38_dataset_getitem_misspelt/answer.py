import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class ClickLog(Dataset):
    def __init__(self, n_users, n_items, n_rows):
        self.users = torch.randint(0, n_users, (n_rows,))
        self.items = torch.randint(0, n_items, (n_rows,))
        taste = torch.randn(n_users, 4)
        style = torch.randn(n_items, 4)
        affinity = (taste[self.users] * style[self.items]).sum(1)
        self.clicked = (affinity > 0).float()

    def __len__(self):
        return self.users.numel()

    def __getitem__(self, index):
        return self.users[index], self.items[index], self.clicked[index]


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, dim=8):
        super().__init__()
        self.u = nn.Embedding(n_users, dim)
        self.i = nn.Embedding(n_items, dim)
        self.bias = nn.Embedding(n_items, 1)

    def forward(self, user, item):
        return (self.u(user) * self.i(item)).sum(-1) + self.bias(item).squeeze(-1)


data = ClickLog(n_users=50, n_items=80, n_rows=2000)
loader = DataLoader(data, batch_size=100, shuffle=True)
model = MatrixFactorization(50, 80)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(5):
    losses = []
    for user, item, clicked in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(model(user, item), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(epoch, sum(losses) / len(losses))
