"""Expressions: what parses, what it means, and how time is separated."""

import copy
import math
import pickle

import numpy as np
import pytest
from helpers.in_turn import in_turn
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from heatsim.scenario.language.expressions.expression import Expression, ExpressionError

NAMES = frozenset("xyztT")
POINTS = {
    "x": np.array([0.3, 1.0, 2.5, -0.7]),
    "y": np.array([0.9, 1.4, 0.2, 3.1]),
    "t": np.array([0.5, 2.0, 1.0, 4.0]),
}
# Every operator and function, each well-conditioned at POINTS.
WELL_CONDITIONED = [
    "1 + 2*x - y/3",
    "-x**2 + +y",
    "y**1.7 + y**-2 + x**4 + 2**t",
    "sin(x) + 2*cos(x/3)",
    "tan(x/4)",
    "exp(-(x**2 + y**2)/0.5)",
    "log(y) + 3*sqrt(t)",
    "abs(x) + tanh(x)",
    "erf(x)",
    "floor(3*x) + floor(-y)",
    "min(x, y, t) + 2*max(x, y, t, 1)",
    "step(x - 1) + 10*step(-x) + 100*where(x > 1, y, t)",
    "x if 0 < x <= 2.5 != y else t",
    "(x > 0 and y < 1) + 2*(x > 1 or t == 4) + 4*(not x > 0) - (x > 0)",
    "293.15 + 80*exp(-((x-0.02)**2 + (y-0.02)**2)/0.9**2) + 5*sin(2*pi*t/60)",
]


def parse(text):
    return Expression.parse(text, NAMES)


def refusal(text, allowed=NAMES):
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text, allowed)
    return caught.value


def step(u):
    return 1.0 if u >= 0 else 0.0


def where(condition, a, b):
    return a if condition else b


PYTHON = vars(math) | {"abs": abs, "min": min, "max": max, "step": step, "where": where, "__builtins__": {}}


def in_python(text, **values):
    """What Python itself makes of a text that this file wrote: the reference for what expressions mean."""
    return float(eval(text, dict(PYTHON), values))


def columns(names):
    return [{name: float(POINTS[name][i]) for name in names} for i in range(4)]


# --- what an expression means ----------------------------------------------------------------------


@in_turn("text", WELL_CONDITIONED)
def test_an_expression_means_what_python_means(text):
    values = parse(text)(**POINTS)
    assert values == pytest.approx([in_python(text, **point) for point in columns("xyt")], rel=1e-14, abs=0)


def test_erf_is_that_of_the_c_library_on_any_shape():
    u = np.linspace(-7, 7, 60).reshape(3, 4, 5)
    expected = np.reshape([math.erf(value) for value in u.flat], u.shape)
    assert np.array_equal(parse("erf(x)")(x=u), expected)
    assert np.array_equal(parse("erf(x)")(x=u.T), expected.T)


def test_arrays_broadcast_and_scalars_give_a_scalar():
    z, y, x = np.ogrid[0:2, 0:3, 0:4]
    expression = parse("x + 10*y + 100*z")
    assert expression(x=x, y=y, z=z).shape == (2, 3, 4)
    assert expression(x=x, y=y, z=z)[1, 2, 3] == 123
    assert parse("2*t")(t=3, x=x).shape == ()
    assert parse("7")().shape == ()


@in_turn("text", ["x", "x > 1", "7", "x + 1", "where(x > 1, x > 0, x > 2)"])
def test_results_are_float64_and_never_the_callers_array(text):
    x = np.array([1.0, 2.0])
    result = parse(text)(x=x)
    assert result.dtype == np.float64
    assert not np.shares_memory(result, x)


def test_single_precision_and_integers_are_computed_in_double():
    assert parse("x/3")(x=np.float32(1)) == 1 / 3
    assert parse("x**2")(x=np.array([100_000], dtype=np.int32))[0] == 1e10


def test_conditions_count_as_numbers_not_as_logic():
    assert parse("(x > 0) + (x > 1) - (x > 9)")(x=2.0) == 2.0
    assert parse("-(x > 0)")(x=2.0) == -1.0
    assert parse("x and 2")(x=5.0) == 1.0


@in_turn(
    ("text", "x", "expected"),
    [
        ("1/x", 0.0, math.inf),
        ("-1/x", 0.0, -math.inf),
        ("x/x", 0.0, math.nan),
        ("log(x)", 0.0, -math.inf),
        ("sqrt(x)", -1.0, math.nan),
        ("x**0.5", -1.0, math.nan),
        ("x**-1", 0.0, math.inf),
        ("exp(x)", 1e4, math.inf),
        ("x**3", 1e200, math.inf),
        ("floor(1/x)", 0.0, math.inf),
        ("floor(x)", 1e300, 1e300),
        ("min(x/x, 1)", 0.0, math.nan),
        ("max(1, x/x)", 0.0, math.nan),
        ("step(x/x)", 0.0, math.nan),
        ("9**9**9**9", 0.0, math.inf),
        ("where(x > 0, 1/x, 5)", 0.0, 5.0),
    ],
)
def test_values_that_are_not_finite_come_out_without_a_warning(text, x, expected):
    assert parse(text)(x=x) == pytest.approx(expected, nan_ok=True)


@in_turn("text", ["min(x, 1)", "min(1, x)", "max(x, 1)", "max(1, x)", "step(x)", "floor(x)", "x**2"])
def test_a_nan_stays_a_nan(text):
    assert np.isnan(parse(text)(x=math.nan))


def test_a_missing_variable_is_a_type_error():
    with pytest.raises(TypeError, match="needs t, y"):
        parse("x + y + t")(x=1)


def test_names_are_the_variables_in_use():
    assert parse("pi*sin(x) + (t if t > 1 else 0*x)").names == {"x", "t"}
    assert parse("2*pi").names == frozenset()


def test_expressions_are_values():
    a, b = parse("x + 1"), parse("x + 1")
    assert a == b
    assert hash(a) == hash(b)
    assert a != parse("x+1")
    assert a != Expression.parse("x + 1", frozenset("x"))
    assert a != "x + 1"
    assert repr(a) == "Expression('x + 1')"
    assert pickle.loads(pickle.dumps(a)) == copy.deepcopy(a) == a


def test_an_expression_is_a_pydantic_field_that_no_table_can_forge():
    class Model(BaseModel):
        model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)
        value: float | Expression

    assert Model(value=parse("x")).value == parse("x")
    assert Model(value=2).value == 2.0
    with pytest.raises(ValueError, match="value"):
        Model(value={"text": "x", "allowed": ["x"], "tree": None})


# --- random expressions, exact in binary -----------------------------------------------------------
# Small powers of two under + - * / 2 and exact functions give exact results: NumPy and Python must agree to the bit.

EXACT_POINTS = [
    {"x": 2.0, "y": -1.0, "t": 0.5},
    {"x": 1.0, "y": 4.0, "t": 2.0},
    {"x": -0.5, "y": 0.0, "t": 4.0},
]


def combined(parts):
    a, b, c = parts, parts, parts
    return st.one_of(
        st.builds("({} {} {})".format, a, st.sampled_from("+-*"), b),
        st.builds("({} / 2)".format, a),
        st.builds("{}{}({})".format, st.sampled_from(["-", "+"]), st.sampled_from(["abs", "step", "floor"]), a),
        st.builds("{}({}, {}, {})".format, st.sampled_from(["min", "max", "where"]), a, b, c),
        st.builds("({} if {} < {} <= 1 else {})".format, a, b, c, a),
        st.builds("({} if {} > 0 and not {} == 1 or {} != 2 else 3)".format, a, b, c, a),
    )


def exact(names, leaves):
    return st.recursive(st.sampled_from([*names, "1", "2", "0.5"]), combined, max_leaves=leaves)


@given(exact("xyt", leaves=8))
def test_random_expressions_mean_what_python_means(text):
    expression = parse(text)
    for point in EXACT_POINTS:
        expected = in_python(text, **point)
        assert expression(**point) == expected


def separable(parts):
    return st.one_of(
        st.builds("({} {} {})".format, parts, st.sampled_from("+-*"), parts),
        st.builds("(-{})".format, parts),
        st.builds("({} / {})".format, parts, st.sampled_from(["2", "t", "x", "(2*x*t)", "(x/t)"])),
    )


SEPARABLE = st.recursive(exact("xy", leaves=3) | exact("t", leaves=3), separable, max_leaves=5)


@given(SEPARABLE)
def test_the_sum_of_products_equals_the_expression(text):
    expression = parse(text)
    coefficients = expression.split_time()
    assert 1 <= len(coefficients) <= 16
    for point in EXACT_POINTS:
        total = 0.0
        for space, factor in coefficients:
            total += float(space(**point) if space else 1) * float(factor(**point) if factor else 1)
        assert total == expression(**point)


@given(SEPARABLE)
@settings(max_examples=50)
def test_the_factors_are_of_one_kind_and_their_text_parses_to_them(text):
    for space, factor in parse(text).split_time() or []:
        assert space is None or space.names <= set("xyz")
        assert factor is None or factor.names == {"t"}
        for part in filter(None, (space, factor)):
            for point in EXACT_POINTS:
                again = Expression.parse(part.text, part.allowed)
                assert np.array_equal(again(**point), part(**point), equal_nan=True)


# --- separation of time ----------------------------------------------------------------------------


def split_texts(text):
    return [tuple(part and part.text for part in term) for term in parse(text).split_time()]


def test_time_is_separated_into_products_whose_time_factors_differ():
    assert split_texts("x**2 + y") == [("((x ** 2.0) + y)", None)]
    assert split_texts("3") == [("3.0", None)]
    assert split_texts("2*sin(t)") == [(None, "(2.0 * sin(t))")]
    assert split_texts("exp(-x)*sin(t)") == [("exp((-x))", "sin(t)")]
    assert split_texts("x + sin(t) + y") == [("(x + y)", None), (None, "sin(t)")]
    assert split_texts("(x + y)*t + t") == [("((x + y) + 1.0)", "t")]
    assert split_texts("x/t") == [("x", "(1.0 / t)")]
    assert split_texts("sin(x + y - t)") == [("sin((x + y))", "cos((-t))"), ("cos((x + y))", "sin((-t))")]


def test_travelling_waves_are_sums_of_products():
    wave = parse("3*cos(2*x - y + 0.5 - 7*t) + y*sin(x + 40*t)")
    point = {"x": 1.3, "y": 0.4, "z": 0.0, "t": 1234.5}
    parts = [float(space(**point)) * float(time(**point)) for space, time in wave.split_time()]
    assert sum(parts) == pytest.approx(float(wave(**point)), abs=1e-11)


@in_turn(
    "text",
    ["sin(x*t)", "x**t", "(x*t)**2", "1/(x + t)", "max(x, t)", "x if t > 1 else 0", "x < t", "T*x", "T"],
)
def test_what_mixes_space_and_time_is_not_separated(text):
    assert parse(text).split_time() is None


def test_temperature_is_separated_where_the_expression_is_one_product():
    def texts(text):
        return tuple(part and part.text for part in parse(text).split_temperature())

    assert texts("abs(T - 20)**0.25") == (None, "(abs((T - 20.0)) ** 0.25)")
    assert texts("(1 + x)*T**2*t") == ("((1.0 + x) * t)", "(T ** 2.0)")
    assert texts("(x + 2)*T/(1 + t)") == ("((x + 2.0) / (1.0 + t))", "T")
    assert texts("x") == ("x", None)
    for text in ("x + T", "sin(x*T)", "T if x > 1 else 2", "x*T + T**2"):
        assert parse(text).split_temperature() is None


def test_separation_stops_at_16_terms():
    assert len(parse("*".join(["(x + t)", "(1 + x*t)", "(y + t*t)", "(y - t)"])).split_time()) <= 16
    assert parse("*".join(["(x + t)"] * 5)).split_time() is None
    assert parse("*".join(["(x + t)"] * 50)).split_time() is None  # 2**50 terms were it to go on


# --- what is refused -------------------------------------------------------------------------------


@in_turn(
    ("text", "offset"),
    [
        ("__import__('os')", 11),
        ("__import__(x)", 0),
        ("1 + x.__class__", 4),
        ("  1 + foo", 6),
        ("(lambda: 0)()", 7),
        ("lambda: 0", 6),
        ("[x for x in y]", 0),
        ("sin(x for x in y)", 3),
        ("x[0]", 1),
        ("{x}", 0),
        ('"a"', 0),
        ("'a'", 0),
        ("f'{x}'", 1),
        ("(x := 3)", 3),
        ("x = 3", 2),
        ("sin(*x)", 4),
        ("min(**x)", 4),
        ("sin(x=1)", 4),
        ("x // 2", 2),
        ("((x)) // 2", 6),
        ("x % 2", 2),
        ("x @ y", 2),
        ("x << 2", 2),
        ("x & y", 2),
        ("x | y", 2),
        ("x ^ 2", 2),
        ("~x", 0),
        ("x is y", 2),
        ("x in y", 2),
        ("x < y not in t", 6),
        ("x, y", 0),
        ("()", 0),
        ("...", 0),
        ("1..real", 0),
        ("True", 0),
        ("None", 0),
        ("1j", 0),
        ("await x", 0),
        ("yield", 0),
        ("sin", 0),
        ("sin(x)(y)", 0),
        ("x(2)", 0),
        ("2(x)", 0),
        ("x # comment", 2),
        ("x; y", 1),
        ("x\\", 1),
        ("x`", 1),
        ("x\0", 1),
        ("x +\ny", 3),
        ("x\ry", 1),
        ("x\fy", 1),
        ("ｘ", 0),
        ("1 + ｓin(x)", 4),
        ("х", 0),  # Cyrillic
        ("2 − x", 2),  # a minus sign, not a hyphen
        ("𝐱", 0),
        ("", 0),
        ("  \t", 0),
        ("x +", 3),
        ("  x y", 4),
        ("(x", 0),
        ("x)", 1),
        ("010", 0),
        ("1e999", 0),
        ("1 + 1e999", 4),
        ("9" * 400, 0),
        ("0x" + "f" * 1990, 0),
        ("sin()", 0),
        ("sin(x, y)", 0),
        ("1 + min(x)", 4),
        ("where(x, 1)", 0),
    ],
)
def test_what_is_not_allowed_is_refused_where_it_stands(text, offset):
    error = refusal(text)
    assert error.offset == offset
    assert error.message
    assert str(error) == error.message


@in_turn(
    "text",
    [
        "-" * 3000 + "x",
        "-" * 1999 + "x",
        "not " * 490 + "x",
        "(" * 999 + "x" + ")" * 999,
        "((-" * 60 + "x" + "))" * 60,
        "(" * 1999,
        "sin(" * 199 + "x" + ")" * 199,
        "1 if x else " * 160 + "1",
        "x**" * 660 + "x",
        "x<" * 990 + "x",
        "1 " * 900,
        "min(" + "x," * 990 + "x)",
        "9" * 5000,
    ],
)
def test_oversized_and_deep_texts_are_refused(text):
    assert refusal(text).message


PIECES = [
    *"xyt 0123456789.+-*/<>=!(),^%_",
    "**",
    " and ",
    " not ",
    " if ",
    " else ",
    "lambda ",
    "sin(",
    "min(",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_either_parses_or_is_refused_at_a_place_inside_it(text):
    try:
        parse(text)(x=1.0, y=2.0, z=3.0, t=4.0, T=5.0)
        offset = 0
    except ExpressionError as error:
        offset = error.offset
    assert 0 <= offset <= len(text)


def test_the_limits_are_2000_characters_400_nodes_and_a_depth_of_60():
    assert parse("x" + " " * 1999)(x=1) == 1
    assert "2000 characters" in refusal("x" + " " * 2000).message
    assert parse("min(" + ",".join(["x"] * 398) + ")")(x=3) == 3
    assert "400 parts" in refusal("min(" + ",".join(["x"] * 399) + ")").message
    assert parse("-" * 59 + "x")(x=1) == -1
    assert "60 deep" in refusal("-" * 60 + "x").message


@in_turn(
    "text",
    [
        "min(" * 58 + "x" + ",x)" * 58,
        "(1 if x else " * 58 + "x" + ")" * 58,
        "min(" + ",".join(["x"] * 398) + ")",
        " or ".join(["x"] * 330),
        "<=".join(["x"] * 399),
        "(x<=" * 58 + "x" + "<=x<=x)" * 58,
    ],
)
def test_the_largest_expressions_are_computed(text):
    assert parse(text)(x=1.0) == 1.0


def test_powers_of_constants_do_not_hang():
    expression = parse("9**9**9**9**9 + 2.0**99999")
    assert expression() == math.inf


def test_names_depend_on_where_the_expression_stands():
    error = refusal("x + t", frozenset("xyz"))
    assert error.offset == 4
    assert error.message == "t has no meaning here; the names are x, y, z, pi"
    assert refusal("os + 1", frozenset({"x", "os"})).offset == 0


@in_turn(
    ("text", "suggestion"),
    [
        ("2*sinh(x)", "did you mean sin?"),
        ("squrt(x)", "did you mean sqrt?"),
        ("X", "did you mean x?"),
        ("2*Pi", "did you mean pi?"),
        ("x^2", "write powers as **"),
        ("exp", "write exp(...)"),
        ("min(x)", "2 or more"),
        ("foo(x)", "sin cos tan exp log sqrt abs tanh erf floor step min max where"),
        ("x % 2", "+ - * / **"),
    ],
)
def test_refusals_say_what_is_allowed(text, suggestion):
    assert suggestion in refusal(text).message


def test_harmless_oddities_of_python_parse_without_a_warning():
    assert parse("  1_000 + 1if x else 2 ")(x=1) == 1001
    assert parse("0x10 + 1. + .5")() == 17.5


def test_comparisons_are_found_wherever_they_stand() -> None:
    """The innermost first; chains are taken apart, and step(u) is u >= 0."""
    expression = Expression.parse("(0 < x <= y) * step(z - 1) > 0.5 and not x == 3", NAMES)
    found = [(truth.text, difference.text) for truth, difference in expression.comparisons()]
    assert found[0] == ("(0.0 < x)", "(0.0 - x)")
    assert found[1] == ("(x <= y)", "(x - y)")
    assert found[2] == ("((z - 1.0) >= 0.0)", "(z - 1.0)")
    assert found[3][0].endswith("> 0.5)")
    assert found[4] == ("(x == 3.0)", "(x - 3.0)")
