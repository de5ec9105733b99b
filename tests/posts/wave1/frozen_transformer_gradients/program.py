import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class SentenceTransformer(nn.Module):
    def __init__(self, vocab=500, d_model=32, n_layers=4, n_classes=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, d_model)
        self.layer = nn.ModuleList([
            nn.TransformerEncoderLayer(d_model, 4, 64, batch_first=True) for _ in range(n_layers)])
        self.classifier = nn.Linear(d_model, n_classes)

    def forward(self, ids):
        h = self.embeddings(ids)
        for block in self.layer:
            h = block(h)
        return self.classifier(h[:, 0])


def freeze(model, layer_indices):
    for layer_idx in layer_indices:
        for param in model.layer[layer_idx].parameters():
            param.requires_grad = False


def layer_gradients(model, ids, labels):
    """norm of the gradient of the loss for the weights of every layer"""
    model.eval()
    loss = nn.functional.cross_entropy(model(ids), labels)
    params = [block.linear1.weight for block in model.layer]
    grads = torch.autograd.grad(loss, params)
    return [g.norm().item() for g in grads]


ids = torch.randint(0, 500, (70, 16))
labels = torch.randint(0, 3, (70,))
loader = DataLoader(TensorDataset(ids, labels), batch_size=32, shuffle=True)

model = SentenceTransformer()
freeze(model, layer_indices=[0, 1])
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-4)

for epoch in range(2):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f'epoch {epoch}: {loss.item():.4f}')

# which layers does the trained model depend on?
for i, g in enumerate(layer_gradients(model, ids[:8], labels[:8])):
    print(f'layer {i}: {g:.5f}')
