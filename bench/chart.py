#!/usr/bin/env python3
"""bench/chart.py [--check]: writes what the pages show of bench/results: the six rows of README.md and the tables of
docs/benchmarks.md, each between its marks, and docs/bench.svg. With --check it writes nothing and fails if a page
differs from the results.
"""

import json
import os
import sys
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
MACHINES = {  # by the file in bench/results; the first is the README's
    "rows-neoverse-v1": "Neoverse-V1",
    "rows-neoverse-n1": "Neoverse-N1",
    "rows-zen5": "Zen 5",
    "rows-granite-rapids": "Granite Rapids",
}
FRONT = [  # the rows of README.md and of the chart
    ("op/attention+grad", "attention, forward and backward"),
    ("mlp-1024-b256", "MLP 1024-1024-1024, batch 256"),
    ("train/nanogpt-char-b4", "nanoGPT (10 M), training step"),
    ("train/gpt2-124m-b1-t64", "GPT-2 124M, training step"),
    ("gen/gpt2-124m-100tok-kvcache", "GPT-2 124M, 100 tokens with a cache"),
    ("infer/olmo2-1b-decode", "OLMo-2 1B, 4 + 16 tokens"),
]
KINDS = ["op", "mlp", "train", "gen", "infer"]


def load(name):
    with open(os.path.join(RESULTS, name + ".json")) as f:
        return json.load(f)


def place(row):
    """Sort key that groups rows of a kind: a work next to its gradient and its other batch."""
    kind = row["work"].replace("-", "/").split("/")[0]
    return (KINDS.index(kind), row["work"])


def ms(x):
    if x < 1:
        return f"{1e3 * x:.3g} µs"
    return f"{x:.3g} ms" if x < 1000 else f"{x / 1e3:.3g} s"


def mb(x):
    return f"{x:.0f} MB" if x < 1000 else f"{x / 1e3:.1f} GB"


def peer_name(row, versions):
    words = row["peer"].split()
    tool, rest = words[0], " ".join(w for w in words[1:] if w not in ("eager", "flash"))
    named = {"torch": f"PyTorch {versions['torch'].removesuffix('.0')}", "jax": f"JAX {versions.get('jax')}"}
    return (named.get(tool, tool) + " " + rest.replace("compile", "compiled")).strip()


def markdown(head, lines):
    rows = [head, [":---"] + ["---:"] * (len(head) - 1), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def front_table():
    data = load(next(iter(MACHINES)))
    rows = {r["work"]: r for r in data["rows"]}
    lines = []
    for work, label in FRONT:
        r = rows[work]
        memory = f"{mb(r['rss_mb'])} / {mb(r['peer_rss_mb'])}"
        peer = f"{ms(r['peer_ms'])} ({peer_name(r, data['versions'])})"
        lines.append([label, ms(r["ours_ms"]), peer, f"{r['ratio']:.2f}x", memory])
    return markdown(["work", "Sheaf", "best peer", "ratio", "memory, Sheaf / peer"], lines)


def machine_table(data):
    lines = []
    for r in sorted((r for r in data["rows"] if r.get("ratio")), key=place):
        limit = f"{r['floor_pct']:.0f} %" if r.get("floor_pct") else ""
        peer = [peer_name(r, data["versions"]), ms(r["peer_ms"])]
        memory = [mb(r[k]) if r.get(k) else "" for k in ("rss_mb", "peer_rss_mb")]
        lines.append([f"`{r['work']}`", ms(r["ours_ms"]), *peer, f"{r['ratio']:.2f}x", limit, *memory])
    return markdown(["row", "Sheaf", "fastest peer", "its time", "ratio", "of the limit", "memory", "its"], lines)


def start_table(data):
    """The first ten steps of training, with nothing on disk."""
    lines = []
    for r in sorted(data["rows"], key=place):
        if starts := r.get("starts"):
            ours = starts["ours"]
            peers = {name: side["cold"]["to_step_10_s"] for name, side in starts.items() if name != "ours"}
            best = min(peers, key=peers.get)
            name = peer_name({"peer": best}, data["versions"])
            cold, cached = (f"{ours[state]['to_step_10_s']:.3g} s" for state in ("cold", "cached"))
            lines.append([f"`{r['work']}`", cold, cached, name, f"{peers[best]:.3g} s"])
    return markdown(["row", "Sheaf, nothing on disk", "code on disk", "fastest peer", "its time"], lines)


def machine_section(name):
    data = load(name)
    title = MACHINES[name]
    peak = data["peak"]
    named = [("torch", "PyTorch"), ("jax", "JAX"), ("llama-cpp-python", "llama-cpp-python")]
    versions = [f"{name} {data['versions'][peer]}" for peer, name in named if peer in data["versions"]]
    text = [
        f"### {title}\n",
        f"{data['cpus']} cores ({data['machine']}), {data['cpus']} threads; measured peak {peak['gflops']:.0f} GFLOP/s"
        f" in f32, {peak['read_gbs']:.0f} GB/s of reads.\n{', '.join(versions)}. Every mode of every peer and the"
        f" command of\neach row: [`bench/results/{name}.json`](../bench/results/{name}.json).\n",
        machine_table(data),
    ]
    if any(r.get("starts") for r in data["rows"]):
        text += ["Seconds from the command to the end of the tenth training step:\n", start_table(data)]
    return "\n".join(text)


def language_table():
    rows = load("first")["rows"]
    by_work = {}
    for r in rows:
        by_work.setdefault(r["work"], {"ours": r["ours_ms"]})[r["peer"] or ""] = r.get("peer_ms")
    lines = []
    for work, times in by_work.items():
        torch = next((t for name, t in times.items() if name.startswith("torch")), None)
        peers = [times.get("cpython"), times.get("lua5.4"), torch]
        lines.append([f"`{work}`", ms(times["ours"]), *(ms(t) if t else "" for t in peers)])
    return markdown(["row", "Sheaf", "CPython", "Lua 5.4", "PyTorch 2.10"], lines)


STYLE = """<style>
text { fill: #24292f; font: 12px sans-serif }
.paper { fill: #ffffff } .grid { stroke: #d0d7de } .one { stroke: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .paper { fill: #0d1117 } .grid { stroke: #30363d } .one { stroke: #8b949e }
}
</style>"""
COLOURS = ["#0072b2", "#e69f00", "#009e73"]  # of Okabe and Ito: told apart by every kind of colour vision
BAR, GAP, LEFT, WIDTH, TOP, FULL = 13, 12, 250, 760, 50, 2.5  # pixels; the ratio at the right edge


def drawing():
    machines = {title: {r["work"]: r for r in load(name)["rows"]} for name, title in MACHINES.items()}
    # A machine with few of the rows is only in the tables.
    machines = {t: rows for t, rows in machines.items() if 2 * sum(work in rows for work, _ in FRONT) > len(FRONT)}
    unit = (WIDTH - LEFT - 60) / FULL
    group = BAR * len(machines) + GAP
    height = TOP + group * len(FRONT) + 20
    size = f'width="{WIDTH}" height="{height}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height}">', STYLE]
    out.append(f'<rect class="paper" {size}/>')
    out.append(f'<text x="{LEFT}" y="18">times as fast as the fastest peer (longer is better)</text>')
    for i, title in enumerate(machines):
        x = LEFT + 130 * i
        out.append(f'<rect x="{x}" y="27" width="10" height="10" fill="{COLOURS[i]}"/>')
        out.append(f'<text x="{x + 16}" y="36">{escape(title)}</text>')
    for tick in range(int(FULL) + 1):
        x = LEFT + tick * unit
        kind = "one" if tick == 1 else "grid"
        out.append(f'<line class="{kind}" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 18}"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 4}" text-anchor="middle">{tick}x</text>')
    for g, (work, label) in enumerate(FRONT):
        top = TOP + g * group
        out.append(f'<text x="{LEFT - 8}" y="{top + group // 2 - 2}" text-anchor="end">{escape(label)}</text>')
        for i, rows in enumerate(machines.values()):
            y = top + i * BAR
            if work not in rows:
                out.append(f'<text x="{LEFT + 4}" y="{y + 10}">not measured</text>')
                continue
            ratio = rows[work]["ratio"]
            length = min(ratio, FULL) * unit
            out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{COLOURS[i]}"/>')
            out.append(f'<text x="{LEFT + length + 4:.1f}" y="{y + 10}">{ratio:.2f}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def between(page, mark, text):
    """The page, with `text` between the markers of this name."""
    begin, end = f"<!-- {mark}: made by bench/chart.py -->\n", f"<!-- end of {mark} -->\n"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        sys.exit(f"bench/chart.py: no marks for '{mark}' in the page")
    return before + begin + text + end + after


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def pages():
    readme = between(read("README.md"), "rows", front_table())
    full = between(read("docs/benchmarks.md"), "machines", "\n".join(machine_section(name) for name in MACHINES))
    full = between(full, "language", language_table())
    return {"README.md": readme, "docs/benchmarks.md": full, "docs/bench.svg": drawing()}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = []
    for path, text in pages().items():
        if os.path.exists(os.path.join(ROOT, path)) and read(path) == text:
            continue
        stale.append(path)
        if not sys.argv[1:]:
            with open(os.path.join(ROOT, path), "w") as f:
                f.write(text)
    if sys.argv[1:] and stale:
        sys.exit(f"{', '.join(stale)}: not what bench/results says. Run: python3 bench/chart.py")


main()
