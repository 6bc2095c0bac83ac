"""docs/from-numpy.md, made from docs/from-numpy.txt. As a program, lists the public functions of the NumPy, JAX and
PyTorch that are installed and that the table says nothing of, and counts those that have an equivalent here; with
--write it puts the counts into the table: python3 test/docs/from_numpy.py [--write]"""

import fnmatch
import importlib
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "docs", "from-numpy.txt")
HEAD = """# Functions of NumPy, JAX and PyTorch

What their functions of arrays are called here, or what to write instead. Names without a module are those of `numpy`
(and `jax.numpy`) or of `torch`. Ideas rather than names are in [from-pytorch-jax.md](from-pytorch-jax.md). Made from
`from-numpy.txt`; do not edit.
"""


def rows():
    """(section, names of NumPy, names of PyTorch, what to write here) of each line."""
    section = ""
    with open(DATA, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("## "):
                section = line[3:]
            elif line and not line.startswith("#"):
                numpy, torch, here = (cell.strip() for cell in line.split("|", 2))
                yield section, numpy.split(), torch.split(), here


def has_equivalent(here):
    return not here.startswith(("no ", "not here"))


def counts():
    """Lines `#= LIBRARY | FUNCTIONS | WITH AN EQUIVALENT`, which this script writes."""
    with open(DATA, encoding="utf-8") as f:
        return [[cell.strip() for cell in line[2:].split("|")] for line in f if line.startswith("#=")]


def page():
    out, last = [HEAD], None
    out.append("\n| library | functions of arrays | with an equivalent here |\n|---|---|---|\n")
    out += [f"| {library} | {total} | {here} |\n" for library, total, here in counts()]
    for section, numpy, torch, here in rows():
        if section != last:
            out.append(f"\n## {section}\n\n| NumPy | PyTorch | here |\n|---|---|---|\n")
            last = section
        cells = [", ".join(f"`{name}`" for name in names) for names in (numpy, torch)]
        out.append(f"| {cells[0]} | {cells[1]} | {here} |\n")
    return "".join(out)


def names_here():
    """Every name of this language in the last column: what stands in backquotes alone or at the head of a list."""
    for _, _, _, here in rows():
        for code in re.findall(r"`([^`]*)`", here):
            if re.fullmatch(r"[^\s()\[\]:]+", code):
                yield code
            code = re.sub(r'"[^"]*"', "", code)
            # Binding forms and calls of functions that the reader has.
            for head in re.findall(r"\(([^\s()\[\]]+)", code):
                if head not in ("f",):
                    yield head


def functions_of(module, skip):
    for name in sorted(dir(module)):
        f = getattr(module, name)
        is_function = not name.startswith("_") and callable(f) and not isinstance(f, type)
        if is_function and not any(fnmatch.fnmatch(name, s) for s in skip):
            yield name


# Names that are not functions of arrays: state of the library, storage, other devices, in-place and internal variants.
NOT_OF_ARRAYS = """
  *_ *_copy are_* autocast_* batch_norm_* cudnn_* miopen_* mkldnn_* quantize* q_* int_repr dequantize
  choose_qparams* fake_quantize* fbgemm_* fused_* sparse_* hsmm hspmm smm spmm sspaddmm saddmm dsmm get_* set_*
  is_*enabled is_inference is_distributed is_storage is_vulkan* native_* sym_* use_* unsafe_* hash_tensor compile*
  compiled_with* import_ir* parse_* merge_type* unify_type* classproperty fork wait init_num* prepare_* thread_safe*
  profiler_* crow_indices* ccol_indices* row_indices* col_indices* values_* detach* alias_* slice_inverse resolve_*
  alpha_* has_torch* handle_torch* boolean_dispatch assert_int* scaled_* geterr* seterr* setbufsize getbufsize
  show_* test get_include info iterable may_share_memory shares_memory isfortran busday* is_busday datetime* isnat
  asmatrix embedding_renorm* constant_pad_nd cholesky_* geqrf lobpcg lu* orgqr ormqr lstsq pca_lowrank svd_lowrank
  clear_autocast* empty_quantized solve triangular_solve symeig eig matrix_* pinverse bucketize *_with_indices
  is_deterministic* is_autocast* is_anomaly* is_warn* is_grad* Optional
""".split()


# The libraries, the column of their names, and the modules whose functions are counted.
LIBRARIES = [
    ("numpy", 1, ["", "linalg", "fft"]),
    ("jax.numpy", 1, ["", "linalg", "fft"]),
    ("torch", 2, ["", "nn.functional", "special", "linalg", "fft"]),
]


def main():
    table = list(rows())
    lines = []
    for library, column, modules in LIBRARIES:
        total = equivalent = 0
        for inner in modules:
            module = importlib.import_module(f"{library}.{inner}" if inner else library)
            start = inner + "." if inner else ""
            for name in functions_of(module, NOT_OF_ARRAYS):
                found = [row[3] for row in table if any(fnmatch.fnmatch(start + name, p) for p in row[column])]
                total += 1
                equivalent += any(map(has_equivalent, found))
                if not found:
                    print(f"nothing is said of {module.__name__}.{name}")
        version = importlib.import_module(library.split(".")[0]).__version__.split("+")[0]
        lines.append(f"#= {library} {version} | {total} | {equivalent}\n")
    print("".join(lines), end="")
    if "--write" in sys.argv:
        with open(DATA, encoding="utf-8") as f:
            text = [line for line in f if not line.startswith("#=")]
        at = text.index("\n")
        with open(DATA, "w", encoding="utf-8") as f:
            f.writelines(text[:at] + lines + text[at:])


if __name__ == "__main__":
    main()
