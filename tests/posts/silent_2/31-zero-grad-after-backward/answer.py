import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class MovieLensLike(Dataset):
    def __init__(self, n_users, n_items, n_ratings):
        self.users = torch.randint(0, n_users, (n_ratings,))
        self.items = torch.randint(0, n_items, (n_ratings,))
        taste, quality = torch.randn(n_users), torch.randn(n_items)
        self.ratings = 3.0 + taste[self.users] * 0.5 + quality[self.items] * 0.8

    def __len__(self):
        return self.ratings.numel()

    def __getitem__(self, i):
        return self.users[i], self.items[i], self.ratings[i]


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, k=16):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, k)
        self.item_factors = nn.Embedding(n_items, k)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mean = nn.Parameter(torch.zeros(1))
        for emb in (self.user_factors, self.item_factors, self.user_bias, self.item_bias):
            nn.init.normal_(emb.weight, std=0.05)

    def forward(self, u, i):
        dot = (self.user_factors(u) * self.item_factors(i)).sum(dim=1)
        return self.mean + dot + self.user_bias(u).squeeze(1) + self.item_bias(i).squeeze(1)


def fit(model, loader, criterion, optimizer, device, epochs):
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for users, items, ratings in loader:
            users, items, ratings = users.to(device), items.to(device), ratings.to(device)
            prediction = model(users, items)
            loss = criterion(prediction, ratings)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * ratings.size(0)
        print(f"epoch {epoch + 1}/{epochs} rmse {(total / len(loader.dataset)) ** 0.5:.4f}")


def rmse(model, loader, device):
    model.eval()
    sq, n = 0.0, 0
    with torch.no_grad():
        for users, items, ratings in loader:
            err = model(users.to(device), items.to(device)) - ratings.to(device)
            sq += (err ** 2).sum().item()
            n += err.numel()
    return (sq / n) ** 0.5


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = MovieLensLike(60, 90, 2400)
    train_data, test_data = torch.utils.data.random_split(data, [2000, 400])
    train_loader = DataLoader(train_data, batch_size=100, shuffle=True)
    test_loader = DataLoader(test_data, batch_size=200)
    model = MatrixFactorization(60, 90).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-5)
    fit(model, train_loader, nn.MSELoss(), optimizer, device, epochs=6)
    print(f"test rmse {rmse(model, test_loader, device):.4f}")


if __name__ == "__main__":
    main()
