"""What scikit-learn refuses: scores, splits, scalers and encoders."""

from __future__ import annotations

import pytest

from shapewright.analysis.refused_calls.fitted_steps import find_fitted_step
from shapewright.analysis.refused_calls.metric_calls import find_refused_metric
from shapewright.analysis.refused_calls.scaled_columns import find_scaled_column
from shapewright.analysis.refused_calls.scaled_targets import find_scaled_target
from tests.rehearsing.library_errors import explain, mend

MULTICLASS = (
    "`ValueError`: Target is multiclass but average='binary'. Please choose another"
)
LENGTHS = "`ValueError`: Found input variables with inconsistent numbers of samples: "


@pytest.mark.parametrize(
    ("text", "at", "new"),
    [
        ("s = f1_score(y, pred)\n", "f1_score(y, pred)",
         's = f1_score(y, pred, average="macro")\n'),
        ("s = m.recall_score(y_true=y, y_pred=p)\n",
         "m.recall_score(y_true=y, y_pred=p)",
         's = m.recall_score(y_true=y, y_pred=p, average="macro")\n'),
        ("a = precision_score(y, p)\nb = recall_score(y, p, average='weighted')\n",
         "precision_score(y, p)",
         "a = precision_score(y, p, average='weighted')\n"
         "b = recall_score(y, p, average='weighted')\n"),
        ("a = precision_score(y, p)\nb = recall_score(y, p)\nc = f1_score(z, q)\n",
         "precision_score(y, p)",
         'a = precision_score(y, p, average="macro")\n'
         'b = recall_score(y, p, average="macro")\nc = f1_score(z, q)\n'),
        ('s = f1_score(y, p, average="binary")\n', 'f1_score(y, p, average="binary")',
         's = f1_score(y, p, average="macro")\n'),
    ],
)  # fmt: skip
def test_a_score_of_several_classes_is_averaged(text: str, at: str, new: str) -> None:
    cause = explain(find_refused_metric, text, at, MULTICLASS)
    assert cause is not None
    assert "of two classes by default" in cause.message
    (fix,) = cause.fixes
    assert mend(text, fix.edits) == new


def test_no_other_edit_is_tried_for_a_score_by_another_name() -> None:
    text = "y = torch.arange(9) % 4\ns = {'f1': f1_score}['f1'](y, p)\n"
    cause = explain(find_refused_metric, text, "['f1'](y, p)", MULTICLASS)
    assert cause is not None
    assert cause.fixes == ()


LOADERS = """\
size = 32
train = DataLoader(data, batch_size=16, drop_last=True)
valid = DataLoader(
    rest,
    batch_size={size},{drop}
)
score = f1_score(labels, predict(valid))
"""


@pytest.mark.parametrize("size", ["32", "size"])
def test_a_loader_leaves_samples_out(size: str) -> None:
    text = LOADERS.format(size=size, drop="\n    drop_last=True,")
    at = "f1_score(labels, predict(valid))"
    cause = explain(find_refused_metric, text, at, LENGTHS + "[50, 32]")
    assert cause is not None
    assert "leaves the last 18 of 50 samples out" in cause.message
    (fix,) = cause.fixes
    assert "drop_last" not in mend(text, fix.edits).partition("valid")[2]
    assert "16, drop_last=True)" in mend(text, fix.edits)


@pytest.mark.parametrize("counts", ["[50, 31]", "[64, 32]", "[40, 50]"])
def test_other_counts_are_of_no_loader(counts: str) -> None:
    text = LOADERS.format(size="32", drop="\n    drop_last=True,")
    at = "f1_score(labels, predict(valid))"
    assert explain(find_refused_metric, text, at, LENGTHS + counts) is None


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("train_test_split(x, y, stratify=y)",
         "train_test_split(x[kept], y[kept], stratify=y[kept])"),
        ("train_test_split(rows, test_size=0.2, stratify=d.y)",
         "train_test_split(rows[kept], test_size=0.2, stratify=d.y[kept])"),
        ("train_test_split(range(9), stratify=y)", ""),
    ],
)  # fmt: skip
def test_a_class_of_one_sample_is_left_out(call: str, new: str) -> None:
    text = f"counts = np.array([40, 1])\na, b = {call}\n"
    words = "`ValueError`: The least populated class in y has only 1 member, which is"
    cause = explain(find_refused_metric, text, call, words)
    assert cause is not None
    assert "y` has a class of one sample" in cause.message
    assert len(cause.fixes) == bool(new)
    if new:
        mended = mend(text, cause.fixes[0].edits)
        assert "\nkept = np.bincount(" in mended
        assert mended.endswith(f"a, b = {new}\n")


UNFITTED = (
    "`NotFittedError`: This StandardScaler instance is not fitted yet. Call 'fit' with"
)
SCALERS = "x_train, x_test, y_train, y_test = split(x, y)\n{}"


@pytest.mark.parametrize(
    ("lines", "at", "new"),
    [
        ("s = StandardScaler()\nx_train = s.transform(x_train)\n",
         "s.transform(x_train)", "x_train = s.fit_transform(x_train)\n"),
        ("s = StandardScaler()\nx_test = s.transform(x_test)\n",
         "s.transform(x_test)", "s.fit(x_train)\nx_test = s.transform(x_test)\n"),
        ("y_scaler = StandardScaler()\ny_train = (y_train - m) / d\n"
         "out = y_scaler.inverse_transform(pred)\n",
         "y_scaler.inverse_transform(pred)",
         "y_scaler = StandardScaler()\ny_scaler.fit(y_train.reshape(-1, 1))\n"
         "y_train = (y_train - m) / d\n"),
    ],
)  # fmt: skip
def test_a_scaler_is_fitted(lines: str, at: str, new: str) -> None:
    text = SCALERS.format(lines)
    cause = explain(find_fitted_step, text, at, UNFITTED)
    assert cause is not None
    assert "is never fitted" in cause.message
    assert new in mend(text, cause.fixes[0].edits)


def test_a_scaler_that_is_fitted_elsewhere_has_no_edit() -> None:
    text = "def use(x, s):\n    return s.transform(x)\n\ns.fit(x)\n"
    cause = explain(find_fitted_step, text, "s.transform(x)", UNFITTED)
    assert cause is not None
    assert cause.related
    assert cause.fixes == ()


TABLE = """\
df = pd.DataFrame({"wind": a, "temp": b})
df["power"] = c
scaled = scaler.fit_transform(df.to_numpy())
part = df[["wind", "temp"]].to_numpy()
z = scaler.transform(part)
"""


def test_the_columns_of_the_fit_are_named() -> None:
    words = (
        "`ValueError`: X has 2 features, but MinMaxScaler is expecting 3 features as"
    )
    cause = explain(find_fitted_step, TABLE, "scaler.transform(part)", words)
    assert cause is not None
    assert "2 columns of `part`, and was fitted on 3" in cause.message
    (fix,) = cause.fixes
    assert 'df[["wind", "temp", "power"]]' in mend(TABLE, fix.edits)
    other = TABLE.replace('["wind", "temp"]]', '["temp", "wind"]]')
    cause = explain(find_fitted_step, other, "scaler.transform(part)", words)
    assert cause is not None
    assert cause.fixes == ()


FORECAST = """\
scaler = {scaler}
scaled = scaler.fit_transform(rows)
x = torch.tensor(scaled[:-1])
y = torch.tensor(scaled[1:, {column}])
back = scaler.inverse_transform(pred)
"""
ONE_OF_FOUR = (
    "`ValueError`: non-broadcastable output operand with shape (9,1) doesn't match the"
    " broadcast shape (9,4)"
)
UNFIT = "`ValueError`: operands could not be broadcast together with shapes"
TWO_OF_FOUR = f"{UNFIT} (9,2) (4,) (9,2)"


@pytest.mark.parametrize(
    ("scaler", "column", "part"),
    [
        ("StandardScaler()", "3:", "3:"),
        ("MinMaxScaler(feature_range=(-1, 1))", "-1", "3:"),
        ("StandardScaler()", ":1", "0:1"),
        ("StandardScaler()", "[1]", ""),
        ("StandardScaler()", "1", "1:2"),
        ("StandardScaler()", "1:3", ""),
        ("make()", "1", ""),
    ],
)
def test_a_predicted_column_goes_back_through_a_scaler_of_its_own(
    scaler: str, column: str, part: str
) -> None:
    text = FORECAST.format(scaler=scaler, column=column)
    at = "scaler.inverse_transform(pred)"
    cause = explain(find_scaled_target, text, at, ONE_OF_FOUR)
    assert cause is not None
    assert "fitted on 4 columns, those of `rows`, and gets 1 column" in cause.message
    assert len(cause.fixes) == bool(part)
    if part:
        mended = mend(text, cause.fixes[0].edits)
        assert f"target_scaler = {scaler}.fit(rows[:, {part}])\n" in mended
        assert "target_scaler.inverse_transform(pred)" in mended
    cause = explain(find_scaled_target, text, at, TWO_OF_FOUR)
    assert cause is not None
    assert "gets 2 columns of `pred`" in cause.message
    assert cause.fixes == ()


def test_arrays_that_do_not_fit_elsewhere_are_of_no_scaler() -> None:
    text = "scaler.fit(rows)\nerror = pred - labels\n"
    assert explain(find_scaled_target, text, "pred - labels", TWO_OF_FOUR) is None


SEEN = "`ValueError`: y contains previously unseen labels: 'oslo'"
UNKNOWN = "`ValueError`: Found unknown categories ['oslo'] in column 0 during transform"


@pytest.mark.parametrize(
    ("text", "words", "new"),
    [
        ("train, test = df.iloc[:8].copy(), df.iloc[8:].copy()\n"
         "enc = LabelEncoder().fit(train['c'])\nt = enc.transform(test['c'])\n",
         SEEN, "LabelEncoder().fit(df['c'])"),
        ("train, test = train_test_split(df)\nenc = LabelEncoder()\n"
         "train['c'] = enc.fit_transform(train['c'])\nt = enc.transform(test['c'])\n",
         SEEN, "enc.fit(df['c'])\ntrain['c'] = enc.transform(train['c'])\n"),
        ("enc = OneHotEncoder()\nenc.fit(a)\nt = enc.transform(test['c'])\n",
         UNKNOWN, 'OneHotEncoder(handle_unknown="ignore")'),
        ("enc = LabelEncoder()\nenc.fit(labels)\nt = enc.transform(test['c'])\n",
         SEEN, ""),
    ],
)  # fmt: skip
def test_an_encoder_knows_all_labels(text: str, words: str, new: str) -> None:
    cause = explain(find_fitted_step, text, "enc.transform(test['c'])", words)
    assert cause is not None
    assert "'oslo', which does not occur where `enc` was fitted" in cause.message
    assert len(cause.fixes) == bool(new)
    if new:
        assert new in mend(text, cause.fixes[0].edits)


OF_SERIES = (
    "`ValueError`: Expected a 2-dimensional container but got <class"
    " 'pandas.core.series.Series'> instead. Pass a DataFrame"
)
OF_ARRAY = "`ValueError`: Expected 2D array, got 1D array instead:"


@pytest.mark.parametrize(
    ("lines", "at", "words", "new"),
    [
        ("a = s.fit_transform(train['x'])\nb = s.transform(test['x'])\n",
         "s.fit_transform(train['x'])", OF_SERIES,
         "a = s.fit_transform(train[['x']])\nb = s.transform(test[['x']])\n"),
        ("a = s.fit_transform(train['x'].values)\nb = s.transform(test['x'].values)\n",
         "s.fit_transform(train['x'].values)", OF_ARRAY,
         "a = s.fit_transform(train[['x']].values)\n"
         "b = s.transform(test[['x']].values)\n"),
        ("s.fit(x)\na = s.transform(x)\n", "s.fit(x)", OF_ARRAY,
         "s.fit(x.reshape(-1, 1))\na = s.transform(x.reshape(-1, 1))\n"),
        ("s.fit(df.x)\n", "s.fit(df.x)", OF_SERIES, "s.fit(df.x.to_frame())\n"),
        ("s.fit(x.reshape(-1, 1))\nb = s.inverse_transform(y)\n",
         "s.inverse_transform(y)", OF_ARRAY,
         "s.fit(x.reshape(-1, 1))\nb = s.inverse_transform(y.reshape(-1, 1))\n"),
        ("s.fit(rows)\nb = s.transform(row)\n", "s.transform(row)", OF_ARRAY, ""),
    ],
)  # fmt: skip
def test_a_scaler_takes_a_column_as_a_table(
    lines: str, at: str, words: str, new: str
) -> None:
    text = f"s = MinMaxScaler()\n{lines}"
    cause = explain(find_scaled_column, text, at, words)
    assert cause is not None
    assert "`s` takes rows and columns, and" in cause.message
    assert len(cause.fixes) == bool(new)
    if new:
        assert mend(text, cause.fixes[0].edits) == f"s = MinMaxScaler()\n{new}"


def test_a_column_of_what_is_no_scaler_has_no_edit() -> None:
    text = "s = Ridge()\ns.fit(x, y)\n"
    cause = explain(find_scaled_column, text, "s.fit(x, y)", OF_ARRAY)
    assert cause is not None
    assert cause.fixes == ()
