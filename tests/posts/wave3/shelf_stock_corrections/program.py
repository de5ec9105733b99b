import torch
import torch.nn as nn

torch.manual_seed(6)
SHELVES, PRODUCTS = 4, 6


class StockModel(nn.Module):
    """Low-rank guess of how much of every product lies on every shelf."""

    def __init__(self, rank=3):
        super().__init__()
        self.shelf = nn.Embedding(SHELVES, rank)
        self.product = nn.Embedding(PRODUCTS, rank)

    def forward(self):
        return self.shelf.weight @ self.product.weight.t()


def correct(stock, shelf_of_product, counted):
    """The count of product j replaces the number on the shelf where it was counted."""
    return torch.scatter(stock, 0, shelf_of_product, counted)


def daily_count(day):
    where = torch.randint(0, SHELVES, (1, PRODUCTS), generator=torch.Generator().manual_seed(day))
    counted = torch.linspace(0.5, 3.0, PRODUCTS) + 0.1 * day
    return where, counted


stock = torch.rand(SHELVES, PRODUCTS) * 3
model = StockModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for day in range(3):
    where, counted = daily_count(day)
    stock = correct(stock, where, counted)
    for _ in range(20):
        loss = nn.functional.mse_loss(model(), stock)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('day', day, 'loss %.4f' % loss.item())
print(stock)
