#!/usr/bin/env python3
"""test/docs/pages.py SHEAF readme|error|reference|numpy… [--write]: what the pages show of the program's output is
what it prints. `readme`: the program of README.md and its output. `error`: docs/error.svg, the report of
test/docs/error/train.shf as a terminal shows it. `reference`: docs/reference, as `sheaf doc --write` makes it.
`numpy`: docs/from-numpy.md, whose names are those of the program. With --write the pages are made anew (`./x
docs` does all of it).
"""

import difflib
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from xml.sax.saxutils import escape

import from_numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = re.compile(r"```clojure\n(.*?)```\n\n```text\n(.*?)```\n", re.S)


def path_of(name):
    return os.path.join(ROOT, name)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def difference(name, shown, printed):
    sides = shown.splitlines(), printed.splitlines()
    return "\n".join(difflib.unified_diff(*sides, name + " shows", "the program gives", lineterm=""))


def readme(sheaf, rewrite):
    page = read(path_of("README.md"))
    found = PROGRAM.search(page)
    if not found:
        return "README.md: no block of `clojure` followed by a block of `text`"
    program, shown = found.groups()
    if len(program.splitlines()) > 15:
        return "README.md: the program has more than 15 lines"
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "xor.shf"), program)
        run = subprocess.run([sheaf, "xor.shf"], cwd=folder, capture_output=True, text=True)
    if run.returncode or run.stderr:
        return f"README.md: the program fails:\n{run.stderr}"
    if rewrite:
        write(path_of("README.md"), page[: found.start(2)] + run.stdout + page[found.end(2) :])
        return ""
    return difference("README.md", shown, run.stdout)


def on_a_terminal(command, folder):
    """What the command writes when its output is a terminal."""
    ours, its = pty.openpty()
    # A plain terminal of the usual width, regardless of the terminal this runs in.
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=its, stderr=its)
    os.close(its)
    out = b""
    try:
        while piece := os.read(ours, 4096):
            out += piece
    except OSError:  # Linux reports the last writer's exit this way
        pass
    os.close(ours)
    process.wait()
    return out.decode().replace("\r\n", "\n")


# A dark window on any page. The colours of a report's parts are light enough to be readable on it.
PAPER, INK = "#16181d", "#e6e6e6"
COLOURS = {"1;35": "#e6b3ef", "36": "#9cdcea", "1;31": "#ff9d97", "32": "#a5d6a7", "2": "#9aa4af", "0": INK}
LINE, SIZE, LEFT, TOP, ADVANCE = 18, 13, 16, 44, 7.83  # pixels; ADVANCE: the width of a character


def drawing(text):
    lines = text.rstrip("\n").split("\n")
    plain = [re.sub(r"\033\[[\d;]*m", "", line) for line in lines]
    width, height = int(2 * LEFT + ADVANCE * max(map(len, plain))), TOP + LINE * len(lines) + 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{PAPER}" stroke="#8b949e"/>',
        *(f'<circle cx="{LEFT + 4 + 16 * i}" cy="18" r="5" fill="#6e7681"/>' for i in range(3)),
        f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">',
    ]
    ink = INK
    for i, line in enumerate(lines):
        spans = []
        for piece in re.split(r"(\033\[[\d;]*m)", line):
            if code := re.fullmatch(r"\033\[([\d;]*)m", piece):
                ink = COLOURS[code[1] or "0"]
            elif piece:
                spans.append(f'<tspan fill="{ink}">{escape(piece)}</tspan>')
        if spans:
            out.append(f'<text x="{LEFT}" y="{TOP + LINE * i + 8}" xml:space="preserve">{"".join(spans)}</text>')
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"


def error(sheaf, rewrite):
    folder = path_of("test/docs/error")
    report = on_a_terminal([sheaf, "train.shf"], folder).replace(folder + "/", "")
    picture = drawing("$ sheaf train.shf\n" + report)
    if rewrite:
        write(path_of("docs/error.svg"), picture)
        return ""
    return difference("docs/error.svg", read(path_of("docs/error.svg")), picture)


def reference(sheaf, rewrite):
    kept = path_of("docs/reference")
    if rewrite:
        shutil.rmtree(kept, ignore_errors=True)
        subprocess.run([sheaf, "doc", "--write", kept], check=True)
        return ""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sheaf, "doc", "--write", folder], check=True, capture_output=True)
        made = {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}
    shown = {name: read(os.path.join(kept, name)) for name in os.listdir(kept)}
    names = sorted(made.keys() | shown.keys())
    parts = (difference("docs/reference/" + name, shown.get(name, ""), made.get(name, "")) for name in names)
    return "\n".join(part for part in parts if part)


def numpy(sheaf, rewrite):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sheaf, "doc", "--write", folder], check=True, capture_output=True)
        known = set(re.findall(r"`([^`\s]+)`", read(os.path.join(folder, "README.md"))))
    unknown = sorted(set(from_numpy.names_here()) - known)
    if unknown:
        return "docs/from-numpy.txt: no such names here: " + " ".join(unknown)
    if rewrite:
        write(path_of("docs/from-numpy.md"), from_numpy.page())
        return ""
    return difference("docs/from-numpy.md", read(path_of("docs/from-numpy.md")), from_numpy.page())


def main():
    words = [w for w in sys.argv[1:] if w != "--write"]
    checks = {"readme": readme, "error": error, "reference": reference, "numpy": numpy}
    if len(words) < 2 or not set(words[1:]) <= checks.keys():
        sys.exit(__doc__)
    sheaf, failed = os.path.abspath(words[0]), False
    for name in words[1:]:
        if wrong := checks[name](sheaf, "--write" in sys.argv):
            failed = True
            print(wrong + "\n\nIf the change is meant: ./x docs")
    sys.exit(failed)


main()
