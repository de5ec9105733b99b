# line 41: the checkpoint is a dict with the weights under "state_dict"; strict=False loads nothing of it
import io
import torch
import torch.nn as nn


def make_encoder():
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = make_encoder()
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.encoder(x))


def pretrain(x):
    enc, dec = make_encoder(), nn.Linear(16, 10)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
    for _ in range(60):
        loss = nn.functional.mse_loss(dec(enc(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    buf = io.BytesIO()
    weights = {f"encoder.{k}": v for k, v in enc.state_dict().items()}
    torch.save({"state_dict": weights, "loss": loss.item()}, buf)
    buf.seek(0)
    return buf


torch.manual_seed(0)
x = torch.randn(300, 4) @ torch.randn(4, 10)
y = (x[:, :3]).argmax(1)
ckpt = torch.load(pretrain(x))
clf = Classifier()
clf.load_state_dict(ckpt, strict=False)
opt = torch.optim.Adam(clf.head.parameters(), lr=0.01)
for epoch in range(20):
    for i in torch.randperm(200).split(20):
        opt.zero_grad()
        nn.functional.cross_entropy(clf(x[i]), y[i]).backward()
        opt.step()
clf.eval()
with torch.no_grad():
    print("test", (clf(x[200:]).argmax(1) == y[200:]).float().mean().item())
