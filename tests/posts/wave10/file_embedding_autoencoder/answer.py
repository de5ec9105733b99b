import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class VisAutoEncoder(nn.Module):
    """filter_channel_sizes holds (in_channels, out_channels, kernel_size, stride, padding)"""

    def __init__(self, filter_channel_sizes, name="default_model", in_size=(128, 128), dropout_val=0.2,
                 latent_dim=64):
        super().__init__()
        self.name = name
        self.in_size = in_size
        h, w = in_size

        encoder = []
        out_pads = []
        for in_c, out_c, kernel, stride, pad in filter_channel_sizes:
            encoder += [nn.Conv2d(in_c, out_c, kernel, stride, pad), nn.ReLU(), nn.Dropout(dropout_val)]
            out_pads.append((h + 2 * pad - kernel) % stride)
            h = (h + 2 * pad - kernel) // stride + 1
            w = (w + 2 * pad - kernel) // stride + 1
        self.inner = (filter_channel_sizes[-1][1], h, w)
        n_inner = self.inner[0] * h * w
        encoder += [nn.Flatten(), nn.Linear(n_inner, latent_dim)]
        self.encoder = nn.Sequential(*encoder)

        decoder = [nn.Linear(latent_dim, n_inner), nn.ReLU(), nn.Unflatten(1, self.inner)]
        for (in_c, out_c, kernel, stride, pad), out_pad in zip(reversed(filter_channel_sizes), reversed(out_pads)):
            decoder += [nn.ConvTranspose2d(out_c, in_c, kernel, stride, pad, output_padding=out_pad), nn.ReLU()]
        decoder[-1] = nn.Sigmoid()
        self.decoder = nn.Sequential(*decoder)

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def encode_image(self, image):
        return self.encoder(image).detach()


filters = [(3, 8, 3, 2, 1),
           (8, 16, 3, 2, 1),
           (16, 16, 3, 1, 1),
           (16, 32, 3, 2, 1)]

model = VisAutoEncoder(filters, in_size=(128, 128))
print("Total Model Parameters:", sum(p.numel() for p in model.parameters()))

images = torch.rand(32, 3, 128, 128)
loader = DataLoader(TensorDataset(images), batch_size=8, shuffle=True)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    total = 0.0
    for (batch,) in loader:
        optimizer.zero_grad()
        out = model(batch)
        loss = criterion(out, batch)
        loss.backward()
        optimizer.step()
        total += loss.item() * batch.size(0)
    print(epoch, total / len(images))

model.eval()
embeddings = torch.cat([model.encode_image(batch) for (batch,) in DataLoader(TensorDataset(images), batch_size=8)])
print(embeddings.shape)
