import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(3)

N_SENSORS = 3
N_OUT = 3
N_READINGS = 64
STEPS = 100


def collect():
    """Raw readings of the three load cells and the forces of the reference rig."""
    raw = torch.randn(N_READINGS, N_SENSORS)
    mixing = torch.tensor([[1.1, 0.05, -0.02],
                           [0.03, 0.9, 0.08],
                           [-0.04, 0.02, 1.05]])
    offset = torch.tensor([0.2, -0.1, 0.05])
    force = raw @ mixing.t() + offset + 0.01 * torch.randn(N_READINGS, N_OUT)
    return raw, force


def report(layer):
    print("crosstalk matrix")
    for row in layer.weight.data.tolist():
        print("   " + "  ".join("%7.3f" % v for v in row))
    print("offset    " + "  ".join("%7.3f" % v for v in layer.bias.data.tolist()))


raw, force = collect()
raw = Variable(raw)
force = Variable(force)

calib = nn.Linear(N_SENSORS, N_OUT)
optimizer = optim.SGD(calib.parameters(), lr=0.1)
mse = nn.MSELoss()

# fit the calibration
history = []
for step in range(STEPS):
    estimate = calib(raw)
    loss = mse(estimate, force)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if step % 20 == 0:
        print("step %3d  loss %.5f" % (step, history[-1]))

report(calib)
print("final residual", (calib(raw) - force).abs().mean().item())
