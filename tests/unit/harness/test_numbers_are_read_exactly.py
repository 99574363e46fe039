"""A JSON number is read as what it says: a Decimal with its digits, or an int where it is whole. Figures are rounded
half to even.
"""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract.errors import Reason
from rca_eval.contract.jsontext import load_json
from rca_eval.contract.numbers import nano, nine

digits = st.text("0123456789", min_size=1, max_size=16)
exponents = (
    st.just("") | st.integers(-12, 12).map(lambda n: f"e{n}") | st.integers(0, 9).map(lambda n: f"E+{n}")
)


@given(st.sampled_from(["", "-"]), st.integers(0, 10**14), digits, exponents)
def test_a_number_keeps_its_value_and_digits_and_a_whole_one_is_an_int(sign, whole, rest, exponent):
    text = f"{sign}{whole}.{rest}{exponent}"
    read = load_json(text.encode(), source="x", reason=Reason.USAGE, limit=100)
    exact = Decimal(text)
    if exact == exact.to_integral_value():
        assert (type(read), read) == (int, int(exact))
    else:
        assert (type(read), read.as_tuple()) == (Decimal, exact.as_tuple())


@given(st.fractions() | st.integers(), st.integers(-5, 5))
def test_nine_digits_are_rounded_half_to_even(value, halves):
    assert nano(value) == round(Fraction(value) * 10**9)
    edge = value + Fraction(halves, 2 * 10**9)
    assert nano(edge) == round(edge * 10**9)
    assert Fraction(nine(edge)) == round(edge, 9)
