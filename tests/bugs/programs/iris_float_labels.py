import torch
import torch.nn as nn


class IrisMLP(nn.Module):
    def __init__(self, in_features=4, h1=16, h2=12, out_features=3):
        super().__init__()
        self.fc1 = nn.Linear(in_features, h1)
        self.fc2 = nn.Linear(h1, h2)
        self.out = nn.Linear(h2, out_features)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.log_softmax(self.out(x), dim=1)


def main(rows):
    """Each row: four measurements and the species, as pandas gave them."""
    X, y = rows[:, :4], rows[:, 4]
    model = IrisMLP()
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        y_hat = model(X)
        loss = criterion(y_hat, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss, y_hat.exp()


def example_inputs():
    species = torch.randint(0, 3, (30, 1)).float()
    return (torch.cat([torch.rand(30, 4) * 7, species], dim=1),)
