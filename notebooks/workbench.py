"""What the notebooks share: the tables of the reference runs, ratios with their intervals, and plain words.

Everything is read from `results/reference/`, or from the folder that `WORKBENCH_RESULTS` names. The statistics are
made here anew, with numpy and scipy, and not taken from the harness: two programs that agree are the check.
"""

import functools
import gzip
import json
import os
import pathlib

import matplotlib
import matplotlib.pyplot as plt
import matplotlib_inline.backend_inline
import numpy as np
import polars as pl
import scipy.stats
from IPython.display import Markdown

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = pathlib.Path(os.environ.get("WORKBENCH_RESULTS", HERE.parent / "results" / "reference"))
MIB = 2**20
CONFIDENCE = 0.95
# Of the same cell in every respect but the structure; a row of a phase or an operation has these, too.
PLACE = ["run", "workload", "size", "payload", "allocator"]
PART = ["phase", "operation"]
REPLAYED = pl.col("workload").str.starts_with("replay")
KINDS = (
    "phase enqueue take dispatch requeue drop_batch cancel rearm get next_expiry shrink drop_queue sample idle purge"
).split()
# Told apart by people who see colours differently, too (Okabe and Ito, 2008), and by their marks.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
MARKS = "osD^vPX"

# A drawing holds no date and no version, so that it changes only with its data.
matplotlib_inline.backend_inline.set_matplotlib_formats(
    "png", metadata={"Software": None}, bbox_inches="tight", pil_kwargs={"optimize": True}
)
plt.rcParams.update({
    "figure.figsize": (9, 4), "figure.dpi": 80, "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
})


@functools.cache
def runs() -> dict[str, dict]:
    """The manifest of each run, by its name."""
    found = {path.parent: json.loads(path.read_text()) for path in sorted(REFERENCE.glob("*/manifest.json"))}
    if not found:
        raise FileNotFoundError(f"{REFERENCE} holds no run; results/reference/README.md has the command")
    return {manifest["run"]: manifest | {"folder": folder} for folder, manifest in found.items()}


@functools.cache
def table(name: str) -> pl.DataFrame:
    """A table of all runs together: rows of cells that are ok. `structure` has its parameters with it."""
    parts = [pl.read_parquet(manifest["folder"] / f"{name}.parquet") for manifest in runs().values()]
    rows = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("status") == "ok")
    given = pl.col("parameters").fill_null("")
    named = pl.when(given == "").then("structure").otherwise(pl.concat_str("structure", pl.lit(":"), given))
    return rows.with_columns(named.alias("structure"))


def failures() -> pl.DataFrame:
    """Cells that gave no figures, with the reason."""
    parts = [pl.read_parquet(manifest["folder"] / "measurements.parquet") for manifest in runs().values()]
    rows = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("status") != "ok")
    return rows.group_by("run", "workload", "size", "structure", "pass", "status", "detail").len("cells").sort(pl.all())


def operations(run_pass: str) -> pl.DataFrame:
    """The rows of operations that a pass measured."""
    return table("measurements").filter((pl.col("scope") == "operation") & (pl.col("pass") == run_pass))


def widest(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the run that has most workloads among them: cells of different runs are not compared."""
    counts = rows.group_by("run").agg(pl.col("workload").n_unique(), pl.len()).sort("workload", "len", "run", descending=True)
    return rows.filter(pl.col("run") == counts["run"][0]) if counts.height else rows


@functools.cache
def histograms() -> pl.DataFrame:
    """All histograms of single calls: `run`, `cell`, `phase`, `operation`, `from`, `to` (both within, ns), `calls`.

    They stand in the journal, which is packed where a run is kept."""
    return pl.concat([_histograms(manifest) for manifest in runs().values()])


def _histograms(manifest: dict) -> pl.DataFrame:
    columns = {name: [] for name in ["cell", "phase", "operation", "from", "to", "calls"]}
    for entry in _journal(manifest["folder"]):
        for operation in (entry["calls"] or {"operations": []})["operations"]:
            words = [entry["cell"], entry["phases"][operation["phase"]], KINDS[operation["kind"]]]
            histogram, end = operation["histogram"], 0
            for gap, width, calls in zip(histogram["gap"], histogram["width"], histogram["calls"], strict=True):
                bucket = [end + gap, end + gap + width, calls]
                end = bucket[1] + 1
                for column, value in zip(columns.values(), words + bucket, strict=True):
                    column.append(value)
    types = {name: pl.String if name in PART else pl.UInt64 for name in columns}
    return pl.DataFrame(columns, schema=types).with_columns(run=pl.lit(manifest["run"]))


def _journal(folder: pathlib.Path):
    packed = folder / "journal.jsonl.gz"
    opened = gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else (folder / "journal.jsonl").open(encoding="utf-8")
    with opened as file:
        yield from map(json.loads, file)


def structures() -> list[str]:
    """All structures, as they were planned."""
    seen = table("measurements")["structure"].unique(maintain_order=True).to_list()
    planned = [item["name"] for manifest in runs().values() for item in manifest["plan"]["structures"]]
    return sorted(seen, key=lambda name: planned.index(name.split(":")[0]) if name.split(":")[0] in planned else 99)


def baseline() -> str:
    """The structure that the others are compared with: `array`, or the first where there is none."""
    known = structures()
    return "array" if "array" in known else known[0]


def median_interval(values, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """The interval of a median between two order statistics, exact whatever the distribution; None with too few."""
    ordered = np.sort(np.asarray(values, dtype=float))
    # `out` values are left out at either end: the median lies beyond with a chance of binom.cdf(out, n, 1/2).
    left_out = [out for out in range(len(ordered)) if 2 * scipy.stats.binom.cdf(out, len(ordered), 0.5) <= 1 - confidence]
    if not left_out:
        return None
    return float(ordered[left_out[-1]]), float(ordered[-1 - left_out[-1]])


def paired_ratio(base, other, confidence: float = CONFIDENCE) -> dict | None:
    """`other` over `base`, block by block: exp of the median log ratio, its interval, and p of the sign test."""
    base, other = np.asarray(base, dtype=float), np.asarray(other, dtype=float)
    fit = (base > 0) & (other > 0)
    logs = np.log(other[fit] / base[fit])
    if not len(logs):
        return None
    interval = median_interval(logs, confidence)
    low, high = (None, None) if interval is None else map(float, np.exp(interval))
    above, below = int((logs > 0).sum()), int((logs < 0).sum())
    p = scipy.stats.binomtest(above, above + below).pvalue if above + below else 1.0
    return {"ratio": float(np.exp(np.median(logs))), "low": low, "high": high, "p": float(p), "pairs": len(logs)}


def ratios(rows: pl.DataFrame, metric: str, by: list[str], base: str | None = None) -> pl.DataFrame:
    """Each structure over the baseline, one row for each place `by`, paired block by block."""
    base = base or baseline()
    rows = rows.filter(pl.col(metric).is_not_null())
    of_base = rows.filter(pl.col("structure") == base).select(*by, "block", pl.col(metric).alias("base"))
    pairs = rows.join(of_base, on=[*by, "block"], nulls_equal=True)
    found = []
    for key, group in pairs.group_by(*by, "structure", maintain_order=True):
        ratio = paired_ratio(group["base"], group[metric])
        if ratio:
            middle = {"median": group[metric].median(), "base": group["base"].median()}
            found.append(dict(zip([*by, "structure"], key)) | middle | ratio)
    return pl.DataFrame(found, infer_schema_length=None) if found else pl.DataFrame()


def holm(p) -> np.ndarray:
    """Holm's adjusted p values: a family of comparisons that were stated beforehand."""
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted


def word(low: float | None, high: float | None, delta: float = 0.01) -> str:
    """What an interval of a ratio of costs says, where less than `delta` is no difference."""
    if low is None:
        return "too few blocks"
    if high < 1 / (1 + delta):
        return "faster"
    if low > 1 + delta:
        return "slower"
    if low >= 1 / (1 + delta) and high <= 1 + delta:
        return "same"
    return "differs a little" if low > 1 or high < 1 else "not separated"


def figure(value: float | None, digits: int = 3) -> str:
    """A number with so many digits, and its thousands set apart; `-` for what was not collected."""
    if value is None or not np.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{decimals}f}"


def span(row: dict) -> str:
    """A ratio with its interval: `3.12 (2.90 to 3.30)`."""
    if row["low"] is None:
        return f"{figure(row['ratio'])} (n too small)"
    return f"{figure(row['ratio'])} ({figure(row['low'])} to {figure(row['high'])})"


def show(headings: list[str], rows: list[list], names: int = 1) -> Markdown:
    """A table; the first `names` columns are words, the rest numbers."""
    sides = ["---" if i < names else "---:" for i in range(len(headings))]
    lines = [headings, sides, *[[cell if isinstance(cell, str) else figure(cell) for cell in row] for row in rows]]
    return Markdown("\n".join("| " + " | ".join(line) + " |" for line in lines))


def pivot(rows: pl.DataFrame, names: list[str], value, columns: list[str] | None = None) -> Markdown:
    """A table with a column for each structure; `value` makes a cell's text from a row, or names a column."""
    columns = columns or [name for name in structures() if name in rows["structure"].unique()]
    told = {}
    for row in rows.iter_rows(named=True):
        text = value(row) if callable(value) else figure(row[value])
        told.setdefault(tuple(row[name] for name in names), {})[row["structure"]] = text
    size = lambda cell: f"{cell:,}" if isinstance(cell, int) else str(cell).replace("_", " ")
    body = [[*map(size, key), *[cells.get(column, "-") for column in columns]] for key, cells in told.items()]
    return show([*names, *columns], body, len(names))


def answer(*sentences: str) -> Markdown:
    """The answer, each sentence of which was made from figures."""
    return Markdown("\n".join(f"* {sentence}" for sentence in sentences if sentence))


def listed(words) -> str:
    """`a, b and c`."""
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else "none"


def style(structure: str) -> dict:
    """Colour and mark of a structure: the same in every drawing."""
    place = structures().index(structure)
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKS[place % len(MARKS)], "label": structure}


def about() -> Markdown:
    """What the runs are and what weakens them, in words."""
    rows = []
    for name, run in runs().items():
        plan, build, machine = run["plan"], run["build"], run["machine"]
        doubts = [
            "" if run["complete"] else "not complete",
            "source changed" if (run["revision"] or {}).get("dirty") else "",
            "not optimised" if build["level"] != "3" and _worker_level(name) != {"3"} else "",
        ]
        rows.append([
            name, listed(sorted({str(plan["blocks"])})), ", ".join(plan["passes"]), plan["clock"],
            ", ".join(sorted(_allocators(name))), f"{machine['cpu_model']}, {machine['cpu_count']} CPUs",
            run["started"][:10], listed([doubt for doubt in doubts if doubt]),
        ])
    return show(["run", "blocks", "measured", "clock", "allocators", "machine", "date", "doubts"], rows, 8)


def _worker_level(name: str) -> set:
    return set(table("measurements").filter(pl.col("run") == name)["build_level"].drop_nulls().unique())


def _allocators(name: str) -> set:
    return set(table("measurements").filter(pl.col("run") == name)["allocator"].drop_nulls().unique())
