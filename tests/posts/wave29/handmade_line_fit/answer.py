import torch
from torch.autograd import Variable

torch.manual_seed(1)

# sensor reading -> temperature, a line with a small offset
N = 40
reading = torch.linspace(0.5, 10.0, N)
temperature = 1.8 * reading + 4.0 + 0.05 * torch.randn(N)

# first column of ones, second column the reading
design = Variable(torch.stack([torch.ones(N), reading], dim=1))
observed = Variable(temperature)

coef = Variable(torch.randn(2, 1), requires_grad=True)
offset = Variable(torch.randn(1), requires_grad=True)

LEARNING_RATE = 0.05
STEPS = 3000

optimizer = torch.optim.Adam([coef, offset], lr=LEARNING_RATE)


def predict(x):
    return x.mm(coef).add_(offset).view(-1)


history = []
for step in range(STEPS):
    fitted = predict(design)
    loss = torch.mean((fitted - observed) ** 2)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(loss.item())
    if step % 500 == 0:
        print("step %4d  loss %.5f" % (step, loss.item()))

print("last loss     : %.5f" % history[-1])
print("slope         : %.4f (expected about 1.8)" % coef[1].item())
print("total offset  : %.4f (expected about 4.0)" % (coef[0].item() + offset.item()))

# a few new readings
new_reading = torch.tensor([1.0, 5.0, 9.0])
new_design = torch.stack([torch.ones(3), new_reading], dim=1)
with torch.no_grad():
    answer = predict(new_design)
for r, t in zip(new_reading.tolist(), answer.view(-1).tolist()):
    print("reading %.1f -> temperature %.2f (true %.2f)" % (r, t, 1.8 * r + 4.0))
