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
    device: str = "cpu"


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
        "accelerate_regression", "inputs[:803], targets[:803]",
        "inputs[:801], targets[:801]", "loss = nn.functional.mse_loss(",
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
    "an optimizer under a key that nobody reads": Mistake(
        "lightning_texts", '"optimizer": optimizer,', '"optimiser": optimizer,',
        "def configure_optimizers(self)",
    ),
    "a vector logged in validation_step": Mistake(
        "lightning_averaged", 'F.cross_entropy(logits, batch["mask"]))',
        'F.cross_entropy(logits, batch["mask"], reduction="none"))',
        'self.log("val_loss"',
    ),
    "a key that the batch has not": Mistake(
        "lightning_averaged", 'self.iou(logits, batch["mask"])',
        'self.iou(logits, batch["masks"])', 'batch["masks"]',
    ),
    "a loss for each sample returned to the trainer": Mistake(
        "lightning_texts", "labels, label_smoothing=0.1)",
        'labels, label_smoothing=0.1, reduction="none")', 'reduction="none")',
    ),
    "a hook of the first Lightning": Mistake(
        "lightning_images", "    def test_step(",
        "    def validation_epoch_end(self, outputs):\n        pass\n\n"
        "    def test_step(",
        "def validation_epoch_end(self, outputs)",
    ),
    "the end of an epoch with outputs that nobody gives": Mistake(
        "lightning_texts", "def on_train_epoch_end(self):",
        "def on_train_epoch_end(self, outputs):",
        "def on_train_epoch_end(self, outputs)",
    ),
    "a callback's hook without the number of the batch": Mistake(
        "lightning_texts", "pl_module, outputs, batch, batch_idx):",
        "pl_module, outputs, batch):", "def on_train_batch_end(self,",
    ),
    "three things in a batch where a step takes two": Mistake(
        "lightning_texts", "    return pad_sequence(texts, batch_first=True), ",
        "    lengths = torch.tensor([len(each) for each in texts])\n"
        "    return pad_sequence(texts, batch_first=True), lengths, ",
        "texts, labels = batch",
    ),
    "a metric of fewer classes": Mistake(
        "lightning_averaged", 'task="multiclass", num_classes=classes',
        'task="multiclass", num_classes=classes - 1', "self.iou(logits",
    ),
    "a collection of metrics of fewer classes": Mistake(
        "lightning_texts", "[MulticlassAccuracy(6), ", "[MulticlassAccuracy(5), ",
        "self.train_metrics.update(logits, labels)",
    ),
    "a metric that is nobody's module": Mistake(
        "lightning_averaged", "        self.iou(logits, batch[",
        '        iou = JaccardIndex(task="multiclass", num_classes=4)\n'
        "        iou(logits, batch[",
        " iou(logits", "H100 80GB",
    ),
    "logits kept with their graph by training_step": Mistake(
        "lightning_texts", "        self.train_metrics.update(logits, labels)\n",
        "        self.train_metrics.update(logits, labels)\n"
        "        self.kept = [*getattr(self, 'kept', []), logits]\n",
        "self.kept = [",
    ),
    "a schedule of epochs that steps with each batch": Mistake(
        "lightning_averaged",
        "CosineAnnealingLR(\n            optimizer, T_max="
        "self.trainer.estimated_stepping_batches\n",
        "OneCycleLR(\n            optimizer, self.hparams.rate, "
        "total_steps=self.trainer.max_epochs\n",
        "torch.optim.lr_scheduler.OneCycleLR(",
    ),
    "a plateau of something that nobody logs": Mistake(
        "lightning_texts", '"monitor": "share"', '"monitor": "val_loss"',
        "trainer.fit(Classifier()",
    ),
    "a metric of the wrong axis, by steps": Mistake(
        "hf_steps", "return logits.argmax(-1)", "return logits.argmax(1)",
        "guesses == labels",
    ),
    "tokens that the vocabulary has not": Mistake(
        "hf_steps", "vocab_size=300", "vocab_size=290", "trainer.train()",
    ),
    "blocks longer than the model's positions": Mistake(
        "hf_steps", "n_positions=64", "n_positions=24", "trainer.train()",
    ),
    "items without labels": Mistake(
        "hf_steps", ', "labels": ids.clone()}', "}", "trainer.train()",
    ),
    "a best model by a metric that nobody computes": Mistake(
        "hf_steps", 'metric_for_best_model="eval_loss"', 'metric_for_best_model="f1"',
        "trainer.train()",
    ),
    "states saved at other steps than evaluated": Mistake(
        "hf_steps", "save_steps=500", "save_steps=300",
        "arguments = TrainingArguments(",
    ),
    "a collator that does not pad": Mistake(
        "hf_translation", "        data_collator=padded,\n", "", "trainer.train()",
    ),
    "batches of different lengths stacked": Mistake(
        "accelerate_images", "torch.cat(guesses)", "torch.stack(guesses)",
        "torch.stack(guesses)",
    ),
    "gradients cleared before the step": Mistake(
        "accelerate_images",
        "                optimizer.step()\n                scheduler.step()\n"
        "                optimizer.zero_grad()\n",
        "                optimizer.zero_grad()\n                optimizer.step()\n"
        "                scheduler.step()\n",
        "optimizer.zero_grad()",
    ),
    "a state saved under a number": Mistake(
        "accelerate_images", 'f"step_{done}"', "done", 'os.path.join("out", done)',
    ),
    "gathered guesses that keep a dim": Mistake(
        "accelerate_images", 'model(batch["pixels"]).argmax(-1)',
        'model(batch["pixels"]).argmax(-1, keepdim=True)',
        "torch.cat(guesses) == torch.cat(labels)",
    ),
    "an output that is a dict, read as a pair": Mistake(
        "ignite_averaged", 'RunningAverage(output_transform=lambda out: out["loss"])',
        "RunningAverage(output_transform=lambda out: out[0])", "lambda out: out[0]",
    ),
    "an evaluation that returns no targets": Mistake(
        "ignite_averaged", "return ema.ema_model(x), y", "return ema.ema_model(x)",
        "evaluator.run(test)",
    ),
    "a handler of two arguments": Mistake(
        "ignite_averaged", "def report(engine):", "def report(engine, metrics):",
        "@trainer.on(Events.EPOCH_COMPLETED(every=5)",
    ),
    "guesses given to a loss that takes logits": Mistake(
        "ignite_digits", "create_supervised_evaluator(model, metrics=metrics)",
        "create_supervised_evaluator(\n        model, metrics=metrics,\n"
        "        output_transform=lambda x, y, y_pred: (y_pred.argmax(1), y),\n    )",
        "evaluator.run(val)",
    ),
    "an average loaded into the plain model": Mistake(
        "torch_averaged", 'again.load_state_dict(state["slow"])',
        'again.load_state_dict(state["swa"])', 'again.load_state_dict(state["swa"])',
    ),
    "accumulated gradients that are never cleared": Mistake(
        "torch_averaged", "                optimizer.zero_grad(set_to_none=True)\n", "",
        "scaler.scale(loss).backward()",
    ),
}  # fmt: skip
