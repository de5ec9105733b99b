# -*- coding: utf-8 -*-
import torch

torch.manual_seed(1)


class ThreeLayerNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(ThreeLayerNet, self).__init__()
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, H)
        self.linear3 = torch.nn.Linear(H, D_out)

    def forward(self, x):
        h_relu = self.linear1(x).clamp(min=0)
        h_relu = self.linear2(h_relu).clamp(min=0)
        y_pred = self.linear3(h_relu)
        return y_pred


# N is batch size; D_in is input dimension;
# H is hidden dimension; D_out is output dimension.
N, D_in, H, D_out = 64, 1000, 100, 10

x = torch.randn(N, D_in)
y = torch.randn(N, D_out)

model = ThreeLayerNet(D_in, H, D_out)
print(model)
print(len(list(model.parameters())), 'parameters')

loss_fn = torch.nn.MSELoss(reduction='sum')
learning_rate = 1e-4

for t in range(101):
    y_pred = model(x)

    loss = loss_fn(y_pred, y)
    if t % 20 == 0:
        print(t, loss.item())

    model.zero_grad()
    loss.backward()

    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad

# how well does it fit the batch it has seen?
with torch.no_grad():
    error = (model(x) - y).abs().mean()
    print('mean absolute error after training:', error.item())
