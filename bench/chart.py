#!/usr/bin/env python3
"""bench/chart.py FILE…: puts the rows that `./x bench … --json FILE` kept into the README (between the two marks) and draws them as docs/bench.svg."""
import json
import os
import sys
from xml.sax.saxutils import escape

import targets

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- rows of bench/chart.py -->\n", "<!-- end of rows -->\n"
BAR, LEFT, WIDTH, FULL = 18, 260, 760, 5.0  # heights and widths in pixels; the ratio at the right edge


def figure(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


COLUMNS = ["work", "ours ms", "best peer", "its ms", "ratio", "of the floor", "goal", "memory, MB", "its", "cold ms", "cached ms", "to step 10, s", "its"]


def start_cells(starts):
    """What the first ten steps took more than settled ones, cold and cached, and the seconds to the tenth step, ours and those of the fastest peer."""
    if not starts:
        return [""] * 4
    ours = starts["ours"]
    theirs = [side["cold"]["to_step_10_s"] for name, side in starts.items() if name != "ours"]
    return [*(f"{ours[state]['extra_ms']:.0f}" for state in ("cold", "cached")), figure(ours["cold"]["to_step_10_s"]), figure(min(theirs)) if theirs else ""]


def goal_cell(row, reasons):
    """The goal, and whether it is met, or the number of the reason."""
    wanted = targets.goal(row["work"])
    if not wanted:
        return ""
    if targets.is_met(row):
        return f"{wanted:g}x, met" if row["ratio"] >= wanted else f"{wanted:g}x, met by the floor"
    why = targets.reason(row["work"])
    if why and why not in reasons:
        reasons.append(why)
    return f"{wanted:g}x" + (f" ({reasons.index(why) + 1})" if why else "")


def table(rows):
    lines, reasons = [], []
    for r in rows:
        floor = f"{r['floor_pct']:.0f} %" if r.get("floor_pct") else ""
        memory = [f"{r[k]:.0f}" if r.get(k) else "" for k in ("rss_mb", "peer_rss_mb")]
        lines.append([r["work"], figure(r["ours_ms"]), r["peer"], figure(r["peer_ms"]), f"{r['ratio']:.2f}x", floor, goal_cell(r, reasons), *memory, *start_cells(r.get("starts"))])
    filled = [i for i in range(len(COLUMNS)) if any(line[i] for line in lines)]
    text = "".join(f"| {' | '.join(line[i] for i in filled)} |\n" for line in [COLUMNS, ["---"] * len(COLUMNS), *lines])
    notes = "".join(f"{i + 1}. {why}\n" for i, why in enumerate(reasons))
    met = sum(targets.is_met(r) for r in rows)
    return text + f"\n{met} of {len(rows)} rows reach their goal, the ratio or {targets.FLOOR_PCT} % of the floor. Why the others do not:\n\n{notes}" if notes else text


def drawing(rows):
    height = BAR * len(rows) + 50
    unit = (WIDTH - LEFT - 60) / FULL
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="18" fill="#333333">times as fast as the fastest peer (longer is better)</text>']
    for tick in range(int(FULL) + 1):
        x = LEFT + tick * unit
        out.append(f'<line x1="{x:.1f}" y1="26" x2="{x:.1f}" y2="{height - 18}" stroke="{"#888888" if tick == 1 else "#e4e4e4"}"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 4}" text-anchor="middle" fill="#666666">{tick}x</text>')
    for i, r in enumerate(rows):
        y = 30 + i * BAR
        length = min(r["ratio"], FULL) * unit
        out.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end" fill="#333333">{escape(r["work"])}</text>')
        out.append(f'<rect x="{LEFT}" y="{y + 2}" width="{length:.1f}" height="{BAR - 5}" fill="{"#2f6f9f" if r["ratio"] >= 1 else "#b5523b"}"/>')
        out.append(f'<text x="{LEFT + length + 4:.1f}" y="{y + 12}" fill="#333333">{r["ratio"]:.2f}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


KINDS = ["op", "mlp", "train", "gen", "infer"]


def place(row):
    """Rows of a kind stand together, a work beside its gradient and its other batch."""
    kind = row["work"].replace("-", "/").split("/")[0]
    return (KINDS.index(kind) if kind in KINDS else len(KINDS), row["work"])


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: bench/chart.py FILE…")
    rows = []
    for path in sys.argv[1:]:
        with open(path) as f:
            rows += [r for r in json.load(f)["rows"] if r.get("ratio")]
    rows.sort(key=place)
    readme = os.path.join(ROOT, "README.md")
    with open(readme) as f:
        before, _, rest = f.read().partition(BEGIN)
        _, _, after = rest.partition(END)
    with open(readme, "w") as f:
        f.write(before + BEGIN + table(rows) + END + after)
    with open(os.path.join(ROOT, "docs", "bench.svg"), "w") as f:
        f.write(drawing(rows))


main()
