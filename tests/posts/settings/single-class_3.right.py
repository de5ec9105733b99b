# line 31: the probability of fraud is a softmax over the only score, which is always 1
import numpy as np
import pandas as pd
import torch
from torch import nn

torch.manual_seed(2)
rng = np.random.default_rng(2)
frame = pd.DataFrame(rng.normal(size=(600, 6)), columns=[f"v{i}" for i in range(6)])
frame["fraud"] = (frame.v0 + frame.v1 * frame.v2 > 1.2).astype("float32")
train, test = frame.iloc[:450], frame.iloc[450:]


def as_tensors(part):
    x = torch.tensor(part.drop(columns="fraud").to_numpy(), dtype=torch.float32)
    return x, torch.tensor(part["fraud"].to_numpy())


class FraudModel(nn.Module):
    def __init__(self, n_inputs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_inputs, 24), nn.Tanh(), nn.Dropout(0.1))
        self.score = nn.Linear(24, 1)

    def forward(self, x):
        return self.score(self.body(x))

    @torch.inference_mode()
    def predict_proba(self, x):
        self.eval()
        return torch.sigmoid(self(x))[:, 0].numpy()


x, y = as_tensors(train)
model = FraudModel(x.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(x)).split(50):
        optimizer.zero_grad()
        logit = model(x[idx]).squeeze(-1)
        nn.functional.binary_cross_entropy_with_logits(logit, y[idx]).backward()
        optimizer.step()

x_test, y_test = as_tensors(test)
proba = model.predict_proba(x_test)
flagged = proba > 0.5
print("flagged", flagged.sum(), "of", len(flagged))
print("precision", y_test.numpy()[flagged].mean() if flagged.any() else float("nan"))
