import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

# three peaks on a line with noise
rng = np.random.default_rng(12)
axis = np.linspace(0, 10, 241)
true = [(2.0, 2.5, 0.4), (1.2, 5.0, 0.7), (1.7, 8.1, 0.3)]
signal = sum(a * np.exp(-0.5 * ((axis - m) / s) ** 2) for a, m, s in true)
signal = signal + 0.02 * rng.normal(size=axis.shape)
np.save("spectrum.npy", np.stack([axis, signal]))

axis, signal = torch.from_numpy(np.load("spectrum.npy"))


class Peaks(nn.Module):
    def __init__(self, centres):
        super().__init__()
        self.mean = nn.Parameter(torch.tensor(centres))
        self.log_width = nn.Parameter(torch.full((len(centres),), -0.5))
        self.height = nn.Parameter(torch.ones(len(centres)))

    def forward(self, x):
        z = (x[:, None] - self.mean) / self.log_width.exp()
        return (self.height * torch.exp(-0.5 * z ** 2)).sum(1)


model = Peaks([2.0, 5.5, 8.0])
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10, history_size=10,
                              line_search_fn="strong_wolfe")
evaluations = 0


def closure():
    global evaluations
    evaluations += 1
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(axis), signal)
    loss = loss + 1e-6 * sum(p.pow(2).sum() for p in model.parameters())
    loss.backward()
    return loss


previous = float("inf")
for it in range(30):
    loss = optimizer.step(closure)
    value = loss.item()
    print(f"{it:2d} loss {value:.6f} after {evaluations} evaluations")
    if abs(previous - value) < 1e-10:
        break
    previous = value

with torch.no_grad():
    residual = (model(axis) - signal).numpy()
order = model.mean.detach().argsort()
print("centres", model.mean.detach()[order].numpy().round(3))
print("widths", model.log_width.detach().exp()[order].numpy().round(3))
print("rms", float(np.sqrt((residual ** 2).mean())))

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None

if plt is not None:
    plt.plot(axis.numpy(), signal.numpy(), ".")
    plt.plot(axis.numpy(), model(axis).detach().numpy())
    plt.savefig("fit.png")
