"""Writes elementary.cases: elementary functions that are formulas of others, with values from NumPy in float64."""
import numpy as np

# Name, NumPy's function, arguments, where the third derivative is taken, that derivative, special values and results.
FUNCTIONS = [
    ("sinh", np.sinh, ["-3", "-0.5", "1e-4", "2", "80.5"], 0.5, np.cosh,
     ["(/ 1 (sinh -0.0))", "(sinh inf)", "(sinh -inf)", "(sinh nan)", "(sinh 90)"], ["-inf", "inf", "-inf", "NaN", "inf"]),
    ("cosh", np.cosh, ["-3", "-0.5", "1e-4", "2", "80.5"], 0.5, np.sinh,
     ["(cosh -0.0)", "(cosh inf)", "(cosh -inf)", "(cosh nan)", "(cosh -90)"], ["1.0", "inf", "inf", "NaN", "inf"]),
    ("asin", np.arcsin, ["-1", "-0.5", "1e-4", "0.7", "0.9999"], 0.5, lambda x: (1 + 2 * x * x) / (1 - x * x) ** 2.5,
     ["(/ 1 (asin -0.0))", "(asin 1.5)", "(asin -inf)", "(asin nan)"], ["-inf", "NaN", "NaN", "NaN"]),
    ("acos", np.arccos, ["-1", "-0.5", "1e-4", "0.7", "0.9999"], 0.5, lambda x: -(1 + 2 * x * x) / (1 - x * x) ** 2.5,
     ["(acos 1)", "(acos 1.5)", "(acos -inf)", "(acos nan)"], ["0.0", "NaN", "NaN", "NaN"]),
    ("atan", np.arctan, ["-1e6", "-0.5", "1e-4", "1", "30"], 0.5, lambda x: (6 * x * x - 2) / (1 + x * x) ** 3,
     ["(/ 1 (atan -0.0))", "(atan inf)", "(atan -inf)", "(atan nan)"], ["-inf", "1.5707964", "-1.5707964", "NaN"]),
    ("asinh", np.arcsinh, ["-1e30", "-0.5", "1e-4", "2", "5000"], 0.5,
     lambda x: (2 * x * x - 1) / (1 + x * x) ** 2.5,
     ["(/ 1 (asinh -0.0))", "(asinh inf)", "(asinh -inf)", "(asinh nan)"], ["-inf", "inf", "-inf", "NaN"]),
    ("acosh", np.arccosh, ["1", "1.0001", "2", "5000", "1e30"], 2.0, lambda x: (2 * x * x + 1) / (x * x - 1) ** 2.5,
     ["(acosh 1)", "(acosh 0.5)", "(acosh -inf)", "(acosh inf)", "(acosh nan)"], ["0.0", "NaN", "NaN", "inf", "NaN"]),
    ("atanh", np.arctanh, ["-0.999", "-0.5", "1e-4", "0.7", "0.0625"], 0.5,
     lambda x: (2 + 6 * x * x) / (1 - x * x) ** 3,
     ["(/ 1 (atanh -0.0))", "(atanh 1)", "(atanh -1)", "(atanh 1.5)", "(atanh nan)"], ["-inf", "inf", "-inf", "NaN", "NaN"]),
]


def text(value):
    return str(np.float32(value))


def cases(name, function, arguments, at, third, special, results):
    exact = [function(np.float64(np.float32(x))) for x in arguments]
    gradient = f"(grad (grad (grad (fn [x] ({name} x)))))"
    yield f"--- {name}"
    yield "(list " + " ".join(f"({name} {x})" for x in arguments) + ")"
    yield "~> [" + ", ".join(text(y) for y in exact) + "]"
    yield f"--- {name} of an array, within two units of the last place"
    vector, expected = " ".join(arguments), " ".join(text(y) for y in exact)
    yield f"(all (<= (abs (- ({name} [{vector}]) [{expected}])) (* 2.4e-7 (abs [{expected}]))))"
    yield "=> true"
    yield f"--- {name} of special values"
    yield "(list " + " ".join(special) + ")"
    yield "=> [" + ", ".join(results) + "]"
    yield f"--- third derivative of {name}, alone and under vmap"
    yield f"(list ({gradient} {at}) (first ((vmap {gradient}) [{at} {at}])))"
    yield f"~> [{text(third(at))}, {text(third(at))}]"


with open(__file__.replace("make_elementary_cases.py", "elementary.cases"), "w") as out:
    out.write(";;; Written by make_elementary_cases.py.\n")
    for function in FUNCTIONS:
        out.write("\n".join(cases(*function)) + "\n")
