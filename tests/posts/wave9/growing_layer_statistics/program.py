import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TensorStatistic:
    """running sum of a statistic and the number of samples it was computed of"""

    def __init__(self, shape, update_function, device):
        self.tensor = torch.zeros(shape, device=device)
        self.update_function = update_function
        self.samples = 0

    def update(self):
        update, nb_sample = self.update_function()
        self.tensor = self.tensor + update
        self.samples += nb_sample

    def __call__(self):
        return self.tensor / self.samples

    def reset(self):
        self.tensor, self.samples = torch.zeros_like(self.tensor), 0


class GrowingLinear(nn.Module):
    def __init__(self, in_features, out_features, activation, device):
        super().__init__()
        self.layer = nn.Linear(in_features, out_features, device=device)
        self.activation = activation
        self.input, self.pre_activity = None, None
        self.tensor_s = TensorStatistic((in_features + 1, in_features + 1), self.compute_s_update, device)
        self.tensor_m = TensorStatistic((in_features + 1, out_features), self.compute_m_update, device)

    def forward(self, x):
        self.input = torch.cat([x, torch.ones(len(x), 1, device=x.device)], dim=1)
        self.pre_activity = self.layer(x)
        self.pre_activity.retain_grad()
        return self.activation(self.pre_activity)

    def compute_s_update(self):
        return torch.einsum('ia,ib->ab', self.input, self.input), len(self.input)

    def compute_m_update(self):
        return torch.einsum('ia,ib->ab', self.input, self.pre_activity.grad), len(self.input)

    @torch.no_grad()
    def apply_optimal_delta(self, gamma=0.5):
        s = self.tensor_s()
        s = s + 1e-3 * torch.eye(len(s), device=s.device)
        delta = torch.linalg.solve(s, self.tensor_m())
        self.layer.weight -= gamma * delta[:-1].T
        self.layer.bias -= gamma * delta[-1]


class GrowingMLP(nn.Module):
    def __init__(self, in_features=64, hidden=48, out_features=10, number_hidden_layers=3, device='cpu'):
        super().__init__()
        sizes = [in_features] + [hidden] * number_hidden_layers + [out_features]
        self.layers = nn.ModuleList([
            GrowingLinear(a, b, nn.Identity() if i == number_hidden_layers else nn.SELU(), device)
            for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]))])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def update_computation(self):
        for layer in self.layers:
            layer.tensor_s.update()
            layer.tensor_m.update()


def compute_statistics(model, dataloader, device):
    total = 0.
    for x, y in dataloader:
        x, y = x.to(device), y.to(device)
        model.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction='sum')
        loss.backward()
        model.update_computation()
        total += loss.item()
    return total / len(dataloader.dataset)


if __name__ == '__main__':
    torch.manual_seed(0)
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    centers = torch.randn(10, 64)
    labels = torch.randint(10, (2000,))
    dataset = TensorDataset(centers[labels] + torch.randn(2000, 64), labels)
    dataloader = DataLoader(dataset, batch_size=64, shuffle=True)
    model = GrowingMLP(device=device)
    for step in range(3):
        loss = compute_statistics(model, dataloader, device)
        for layer in model.layers:
            layer.apply_optimal_delta()
            layer.tensor_s.reset()
            layer.tensor_m.reset()
        print(f'step {step}: loss {loss:.4f}')
