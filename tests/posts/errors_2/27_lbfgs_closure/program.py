import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", choices=["adam", "sgd", "lbfgs"], default="lbfgs")
parser.add_argument("--iters", type=int, default=30)
args = parser.parse_args()

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

t = torch.linspace(0, 4, 200).unsqueeze(1)
obs = torch.exp(-0.5 * t) * torch.cos(4 * t) + 0.02 * torch.randn_like(t)

model = nn.Sequential(
    nn.Linear(1, 24),
    nn.Tanh(),
    nn.Linear(24, 24),
    nn.Tanh(),
    nn.Linear(24, 1),
)
criterion = nn.MSELoss()

if args.optimizer == "adam":
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
elif args.optimizer == "sgd":
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
else:
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, line_search_fn="strong_wolfe")

for it in range(args.iters):
    optimizer.zero_grad()
    loss = criterion(model(t), obs)
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it} loss {loss.item():.6f}")

with torch.no_grad():
    print("final", criterion(model(t), obs).item())
