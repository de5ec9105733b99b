import torch
import torch.nn as nn

torch.manual_seed(0)


class MultiTaskNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.cls_head = nn.Linear(dim, 4)
        self.reg_head = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.trunk(x)
        return {"logits": self.cls_head(h), "value": self.reg_head(h).squeeze(-1)}


def train(model, steps=20):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(64, 10)
        out = model(x)
        loss = nn.functional.cross_entropy(out["logits"], x[:, :4].argmax(1))
        loss = loss + nn.functional.mse_loss(out["value"], x.sum(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def export(model):
    model.eval()
    example = torch.randn(2, 10)
    return torch.jit.trace(model, example, strict=False)


model = MultiTaskNet()
print("final loss", round(train(model), 4))
scripted = export(model)
x = torch.randn(5, 10)
for key, value in scripted(x).items():
    print(key, tuple(value.shape), torch.allclose(value, model(x)[key]))
