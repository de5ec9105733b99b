"""Mistakes planted into the scripts of this folder, one at a time.

Of each: the script, text and what stands in its place, and the part of a line, after
the change, at which the mistake must be told.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One mistake."""

    script: str
    old: str
    new: str
    at: str


MISTAKES = {
    "labels of another shape in the loss of training_step": Mistake(
        "lightning_images", "F.cross_entropy(self(x), y)\n        self.log(",
        "F.cross_entropy(self(x), y[:, None])\n        self.log(",
        "F.cross_entropy(self(x), y[:, None])",
    ),
    "a view that does not fit in validation_step": Mistake(
        "lightning_images", "logits = self(x)", "logits = self(x.view(-1, 784))",
        "logits = self(x.view(-1, 784))",
    ),
    "a metric that broadcasts in validation_step": Mistake(
        "lightning_images", "(logits.argmax(1) == y)",
        "(logits.argmax(1, keepdim=True) == y)", "keepdim=True",
    ),
    "labels joined wrongly in the collate function": Mistake(
        "lightning_images", "return DataLoader(self.val, self.batch_size)",
        "return DataLoader(self.val, self.batch_size, collate_fn=joined)\n\n\n"
        "def joined(items):\n"
        "    images, labels = zip(*items)\n"
        "    return torch.stack(images), torch.cat(labels)\n\n\n"
        "class Cells(Cells):",
        "torch.cat(labels)",
    ),
    "a hook of the trainer with an argument too many": Mistake(
        "lightning_images", "    def test_step(",
        "    def on_validation_epoch_end(self, outputs):\n        pass\n\n"
        "    def test_step(",
        "def on_validation_epoch_end(self, outputs)",
    ),
    "a forward hook with an argument too few": Mistake(
        "lightning_images", "    model = Classifier()\n",
        "    model = Classifier()\n"
        "    model.head.register_forward_hook(lambda module, inputs: None)\n",
        "register_forward_hook",
    ),
    "only the head is in the optimizer": Mistake(
        "lightning_images", "AdamW(self.parameters()", "AdamW(self.head.parameters()",
        "self.head.parameters()",
    ),
    "a metric to stop at that nobody logs": Mistake(
        "lightning_images", 'EarlyStopping("val_loss"', 'EarlyStopping("valid_loss"',
        "trainer.fit(model, data)",
    ),
    "a loader that predict cannot make anew": Mistake(
        "lightning_images",
        "def predict_dataloader(self):\n"
        "        return DataLoader(self.test, batch_size=",
        "def predict_dataloader(self):\n        return DataLoader(self.test, ",
        "trainer.predict(model, data)",
    ),
    "a checkpoint of another width": Mistake(
        "lightning_images", "load_from_checkpoint(best.best_model_path)",
        "load_from_checkpoint(best.best_model_path, width=8)",
        "load_from_checkpoint(best.best_model_path, width=8)",
    ),
    "losses that keep their graphs": Mistake(
        "lightning_images", "        return loss\n",
        "        self.losses = [*getattr(self, 'losses', []), loss]\n"
        "        return loss\n",
        "trainer.fit(model, data)",
    ),
    "a last batch of one sample, in the generator": Mistake(
        "lightning_gan", "torch.randn(1003, 64)", "torch.randn(993, 64)",
        "self.generator(noise)",
    ),
    "an optimizer that never steps": Mistake(
        "lightning_gan", "        optimizer_g.step()\n", "",
        "optimizer_g.zero_grad()",
    ),
    "targets of another rank in a GAN's loss": Mistake(
        "lightning_gan", "torch.ones(real.shape[0], 1, device",
        "torch.ones(real.shape[0], device",
        "F.binary_cross_entropy_with_logits(self.critic(real), ones)",
    ),
    "two labels an item": Mistake(
        "hf_trainer", '"labels": torch.tensor(self.stars[index])',
        '"labels": torch.tensor([self.stars[index]] * 2)', "trainer.train()",
    ),
    "more classes than the model has": Mistake(
        "hf_trainer", "num_labels=5", "num_labels=4", "trainer.train()",
    ),
    "texts of different lengths": Mistake(
        "hf_trainer", "torch.tensor(self.texts[index])",
        "torch.tensor(self.texts[index][: 12 + index % 9])", "trainer.train()",
    ),
    "texts longer than the model's positions": Mistake(
        "hf_trainer", "num_labels=5", "num_labels=5, max_position_embeddings=16",
        "trainer.train()",
    ),
    "a metric of the wrong axis": Mistake(
        "hf_trainer", "prediction.predictions.argmax(-1)",
        "prediction.predictions.argmax(0)", "guesses == prediction.label_ids",
    ),
    "targets that broadcast": Mistake(
        "accelerate_regression", "mse_loss(model(x), y)",
        "mse_loss(model(x), y.squeeze(1))", "y.squeeze(1)",
    ),
    "a last batch of one sample": Mistake(
        "accelerate_regression", "[:803]", "[:801]", "loss = nn.functional.mse_loss(",
    ),
    "gradients that are never cleared": Mistake(
        "accelerate_regression", "                optimizer.zero_grad()\n", "",
        "accelerator.backward(loss)",
    ),
    "predictions of another rank in evaluation": Mistake(
        "accelerate_regression", "errors.append((guess - y).abs())",
        "errors.append((guess - y[:, 0]).abs())", "guess - y[:, 0]",
    ),
    "a model of another width in ignite": Mistake(
        "ignite_digits", "nn.Linear(32, 10)", "nn.Linear(64, 10)", "trainer.run(train",
    ),
}  # fmt: skip
