"""Deep ensembles trained in one go with torch.func (regression with uncertainty)."""
import copy
import torch
import torch.nn as nn
from torch.func import stack_module_state, functional_call, vmap, grad_and_value

torch.manual_seed(0)
ENSEMBLE = 5
STEPS = 200
BATCH = 64


def toy_data(n):
    x = torch.rand(n, 2) * 4 - 2
    y = torch.sin(2 * x[:, :1]) * x[:, 1:] + 0.1 * torch.randn(n, 1)
    return x, y


class Member(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width),
            nn.BatchNorm1d(width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.BatchNorm1d(width),
            nn.SiLU(),
        )
        self.mean = nn.Linear(width, 1)
        self.log_var = nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h).clamp(-6, 3)


members = [Member() for _ in range(ENSEMBLE)]
params, buffers = stack_module_state(members)
params = {k: v.detach() for k, v in params.items()}
skeleton = copy.deepcopy(members[0])


def nll(p, x, y):
    mean, log_var = functional_call(skeleton, p, (x,))
    return 0.5 * (log_var + (y - mean) ** 2 / log_var.exp()).mean()


step_fn = vmap(grad_and_value(nll), in_dims=(0, 0, 0))

x_train, y_train = toy_data(1024)
x_test, y_test = toy_data(256)

momentum = {k: torch.zeros_like(v) for k, v in params.items()}
lr = 0.02
for step in range(STEPS):
    # each member sees its own bootstrap batch
    idx = torch.randint(0, len(x_train), (ENSEMBLE, BATCH))
    grads, losses = step_fn(params, x_train[idx], y_train[idx])
    with torch.no_grad():
        for k in params:
            momentum[k].mul_(0.9).add_(grads[k])
            params[k].sub_(lr * momentum[k])
    if step % 50 == 0:
        print(f"step {step:4d}  mean NLL {losses.mean().item():.3f}")

skeleton.eval()


def predict(p, b):
    return functional_call(skeleton, (p, b), (x_test,))


with torch.no_grad():
    means, log_vars = vmap(predict)(params, buffers)
mixture_mean = means.mean(0)
epistemic = means.var(0)
print("test RMSE", (mixture_mean - y_test).pow(2).mean().sqrt().item())
print("epistemic std", epistemic.sqrt().mean().item())
