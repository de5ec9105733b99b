"""A spec with a mistake: one sentence that points at the character."""

from __future__ import annotations

import pytest

from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import parse_spec

MISTAKES = """\
unknown dtype `f33`; did you mean `f32`?
  x=f32[2], y=f33[2]
              ^
this `[` is never closed
  f32[2, 3
     ^
this `[` is never closed
  f32[2], f32[
             ^
this `(` is never closed
  f32[2, 2*(3
           ^
this `(` is never closed
  (f32[2], f32[3]
  ^
`B` is 8 at column 5 and 16 here
  f32[B=8], f32[B=16]
                ^
the size -1 is negative (a list of numbers is written `list[-1, 2]`)
  f32[2, -1]
         ^
the size `T-20` is -4 at T=16
  f32[2, T-20]
          ^
this size divides by zero
  f32[T=4, 8//(T-4)]
            ^
the size of `B` must be a number, 0 or more
  f32[B=x]
        ^
a size is stated for a letter alone, as in `2*(B=8)`
  f32[2*B=8]
         ^
sizes are divided by `//`
  f32[B/2]
       ^
expected a size, found `,`
  f32[2,,3]
        ^
`f32` cannot be a size
  f32[f32]
      ^
expected `,` or `]`, found `3`
  f32[2 3]
        ^
this tensor has 4.0e+20 bytes, more than a tensor can have
  f32[9999999999, 9999999999]
     ^
unknown device `cud`; did you mean `cuda`?
  f32[2]@cud
         ^
unknown device `gpu`; did you mean `cuda`?
  f32[2]@gpu:0
         ^
only `!grad` may follow `!`
  f32[2]!gard
         ^
int64 tensors cannot require grad
  i64[2]!grad
         ^
unknown values `onez`; did you mean `ones`?
  i64[2]=onez
         ^
int64 cannot hold `0.5`
  i64[2]=0.5
         ^
the values have shape (2,), the tensor (3,)
  i64[3]=[1, 2]
     ^
these rows of values differ in length
  i64[2, 2]=[[1, 2], [3]]
     ^
no integer lies in 5..5
  i64[2]=5..5
         ^
`f32` needs its sizes, as in `f32[2, 3]`
  f32
  ^
`hello` is not a value (text is written in quotes)
  f32[2], hello
          ^
`Tru` is not a value; did you mean `True`? (text is written in quotes)
  Tru
  ^
`null` is not a value; did you mean `None`?
  mask=null
       ^
this string has no closing quote
  f32[2], 'abc
          ^
the string '\\x' is not readable
  '\\x'
  ^
unexpected character `$`
  f32[2]$
        ^
an input without a name comes after `x=`
  x=f32[2], f32[3]
            ^
`x` is given twice
  x=f32[2], x=f32[3]
            ^
the key `a` is given twice
  {a: f32[2], a: f32[3]}
              ^
expected a key: a name, a string or an integer
  {(1): f32[2]}
   ^
expected `:`, found `f32`
  {a f32[2]}
     ^
expected `,` or the end, found `f32`
  f32[2] f32[3]
         ^
expected `,` or the end, found `]`
  f32[2]]
        ^
expected an input, found `,`
  f32[2],, f32[3]
         ^
an input is missing here
  x=
    ^
unexpected character `&`
  f32[2&3]
       ^
a size is missing here
  f32[2], 2*
            ^
"""


def blocks() -> list[tuple[str, str]]:
    lines = MISTAKES.splitlines()
    groups = [lines[at : at + 3] for at in range(0, len(lines), 3)]
    return [(group[1][2:], "\n".join(group)) for group in groups]


@pytest.mark.parametrize(
    ("spec", "message"), [pytest.param(*each, id=each[0]) for each in blocks()]
)
def test_a_mistake_is_pointed_at(spec: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_spec(spec)
    assert str(error.value) == message
    assert error.value.text == spec
    assert error.value.exit_code == 2


def test_only_the_line_with_the_mistake_is_shown() -> None:
    with pytest.raises(InputError) as error:
        parse_spec("f32[2],\n\tf99[3],\nf32[4]")
    assert str(error.value) == ("unknown dtype `f99`\n   f99[3],\n   ^")


@pytest.mark.parametrize("text", ["(" * 4000, "[" * 4000, "f32[" + "(" * 4000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="too deeply nested"):
        parse_spec(text)
