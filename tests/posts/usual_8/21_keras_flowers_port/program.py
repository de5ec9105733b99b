# %% [markdown]
# # My old Keras model, now in PyTorch
# ```
# model = Sequential([
#     Conv2D(16, 3, strides=2, padding='same', activation='relu', input_shape=(64, 64, 3)),
#     Conv2D(32, 3, padding='same', activation='relu'),
#     MaxPooling2D(),
#     Conv2D(64, 3, padding='same', activation='relu'),
#     GlobalAveragePooling2D(),
#     Dropout(0.3),
#     Dense(5)])
# model.compile(Adam(1e-3), SparseCategoricalCrossentropy(from_logits=True), ['accuracy'])
# ```

# %%
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, None: nn.Identity}
np.random.seed(0)
torch.manual_seed(0)

# %% data: five "flowers", a disc with k petals of colour k
yy, xx = np.mgrid[-1:1:64j, -1:1:64j]
angle, radius = np.arctan2(yy, xx), np.hypot(yy, xx)
colours = np.random.rand(5, 3) * 0.7 + 0.3


def flower(k):
    petals = radius < 0.45 + 0.3 * np.cos((k + 3) * angle + np.random.rand() * 6.28)
    img = petals[..., None] * colours[k] + np.random.normal(0, 0.1, (64, 64, 3))
    return img.clip(0, 1)


y = np.random.randint(0, 5, 320)
X = np.stack([flower(k) for k in y]).astype("float32")
X = np.transpose(X, (0, 3, 1, 2))
X_train, X_val, y_train, y_val = X[:240], X[240:], y[:240], y[240:]


# %% layers with the names I am used to
class Conv2D(nn.Module):
    def __init__(self, in_channels, filters, kernel_size, strides=1, padding="valid", activation=None):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, filters, kernel_size, stride=strides, padding=padding)
        self.act = ACTIVATIONS[activation]()

    def forward(self, x):
        return self.act(self.conv(x))


class GlobalAveragePooling2D(nn.Module):
    def forward(self, x):
        return x.mean(dim=(2, 3))


class Model(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)

    def compile_(self, optimizer, loss):
        self.optimizer, self.loss_fn = optimizer, loss

    def fit(self, X, y, batch_size=32, epochs=1, validation_data=None):
        loader = DataLoader(TensorDataset(torch.tensor(X), torch.tensor(y)), batch_size=batch_size, shuffle=True)
        for epoch in range(epochs):
            self.train()
            losses = []
            for xb, yb in loader:
                self.optimizer.zero_grad()
                loss = self.loss_fn(self(xb), yb)
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            msg = f"Epoch {epoch + 1}/{epochs} - loss: {np.mean(losses):.4f}"
            if validation_data is not None:
                msg += f" - val_accuracy: {self.evaluate(*validation_data):.4f}"
            print(msg)

    def predict(self, X, batch_size=80):
        self.eval()
        with torch.no_grad():
            return torch.cat([self(xb) for xb in torch.tensor(X).split(batch_size)]).numpy()

    def evaluate(self, X, y):
        return float((self.predict(X).argmax(axis=1) == y).mean())


# %%
model = Model(
    Conv2D(3, 16, 3, strides=2, padding="same", activation="relu"),
    Conv2D(16, 32, 3, padding="same", activation="relu"),
    nn.MaxPool2d(2),
    Conv2D(32, 64, 3, padding="same", activation="relu"),
    GlobalAveragePooling2D(),
    nn.Dropout(0.3),
    nn.Linear(64, 5),
)
model.compile_(torch.optim.Adam(model.parameters(), lr=1e-3), nn.CrossEntropyLoss())
model.fit(X_train, y_train, epochs=5, validation_data=(X_val, y_val))
print(model.predict(X_val[:3]).round(2), y_val[:3])
