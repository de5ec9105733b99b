# line 20: the weights of the items in the basket are found with the padding id of the categories
import torch
from torch import nn

ITEM_PAD, CATEGORY_PAD = 120, 0
N_ITEMS, N_CATS = 120, 10


class BasketModel(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.items = nn.Embedding(N_ITEMS + 1, dim, padding_idx=ITEM_PAD)
        self.categories = nn.Embedding(N_CATS + 1, dim, padding_idx=CATEGORY_PAD)
        self.gate = nn.Linear(2 * dim, 1)
        self.next_item = nn.Linear(2 * dim, N_ITEMS)

    def forward(self, items, categories):
        x = torch.cat([self.items(items), self.categories(categories)], dim=-1)
        weight = torch.sigmoid(self.gate(x)).squeeze(-1)
        weight = weight * items.ne(CATEGORY_PAD)
        basket = torch.einsum("bt,btd->bd", weight, x) / weight.sum(1, keepdim=True).clamp(min=1e-6)
        return self.next_item(basket)


def make_baskets(n, longest=8):
    items = torch.full((n, longest), ITEM_PAD)
    categories = torch.full((n, longest), CATEGORY_PAD)
    target = torch.empty(n, dtype=torch.long)
    for row in range(n):
        group = int(torch.randint(N_CATS, (1,)))
        size = int(torch.randint(2, longest + 1, (1,)))
        items[row, :size] = group + N_CATS * torch.randint(0, 12, (size,))
        categories[row, :size] = group + 1
        target[row] = group + N_CATS * torch.randint(0, 3, (1,))
    return items, categories, target


torch.manual_seed(0)
shop = BasketModel()
opt = torch.optim.Adam(shop.parameters(), lr=0.01)
items, categories, target = make_baskets(500)
for epoch in range(6):
    shop.train()
    for idx in torch.randperm(500).split(50):
        opt.zero_grad()
        nn.functional.cross_entropy(shop(items[idx], categories[idx]), target[idx]).backward()
        opt.step()

shop.eval()
items, categories, target = make_baskets(200)
with torch.no_grad():
    top = shop(items, categories).topk(3, dim=1).indices
print("hit rate at 3", (top == target[:, None]).any(1).float().mean().item())
