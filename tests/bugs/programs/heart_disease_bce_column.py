import torch
import torch.nn as nn


class HeartNet(nn.Module):
    def __init__(self, input_dim, hidden_dims, p_drop=0.1):
        super().__init__()
        layers = []
        last = input_dim
        for h in hidden_dims:
            layers += [nn.Linear(last, h), nn.ReLU(), nn.Dropout(p_drop)]
            last = h
        layers += [nn.Linear(last, 1), nn.Sigmoid()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.loss_fn = nn.BCELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def step(self, X, y):
        self.model.train()
        proba = self.model(X)
        loss = self.loss_fn(proba, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    @torch.no_grad()
    def predict(self, X):
        self.model.eval()
        return (self.model(X) > 0.5).long().squeeze(1)


def main(X, y):
    trainer = Trainer(HeartNet(input_dim=13, hidden_dims=[32, 16]), lr=1e-3)
    loss = trainer.step(X, y)
    return loss, trainer.predict(X)


def example_inputs():
    return torch.randn(24, 13), torch.randint(0, 2, (24,)).float()
