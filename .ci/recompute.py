"""Recomputes the figures of a run with numpy and scipy: python3 .ci/recompute.py RUN [--cmp COMPARISON.csv]

RUN is the folder of a run made with `--keep-samples`. From the raw samples and the journal all figures of its tables are made
anew: quantiles, slowest calls and histograms of single calls, costs for each call and timer, bytes for each timer. From the tables, every
figure of `harness cmp RUN --format csv`: medians, ratios, their intervals, p values and their adjustment. Each has to
agree to 1e-9 of itself; what is drawn at random (the bootstrap) has to agree within a part of its own width. Exit status 1 where
one does not, with what was expected and what was found.
"""

import argparse
import collections
import json
import math
import pathlib
import sys

import numpy as np
import polars as pl
import scipy.stats

EQUAL = 1e-9
# By the numbers of `stream::Kind`; the samples name an operation by its number.
KINDS = (
    "phase enqueue take dispatch requeue drop_batch cancel rearm get next_expiry shrink drop_queue sample idle purge"
).split()
# A quantile is told with ten calls or more beyond it.
QUANTILES = {"latency_ns_p50": (0.5, 1), "latency_ns_p99": (0.99, 1_000), "latency_ns_p999": (0.999, 10_000)}
PASSES = ["time", "latency", "resident", "heap", "count"]
DRAWS = 9_999


class Tally:
    """Figures that were compared, by what they are, and those that differ."""

    def __init__(self):
        self.compared, self.faults, self.twins = collections.Counter(), [], 0

    def equal(self, kind: str, where: str, expected, found, tolerance: float = EQUAL) -> None:
        """Counts a figure, and keeps it if it is not what is expected. None that was expected is no figure."""
        self.compared[kind] += (expected, found) != (None, None)
        if isinstance(expected, float | int) and isinstance(found, float | int):
            same = math.isclose(expected, found, rel_tol=tolerance)
        else:
            same = expected == found
        if not same:
            self.faults.append(f"{where}: {kind} is {found}, recomputed {expected}")

    def within(self, kind: str, where: str, expected: float, found: float, slack: float) -> None:
        """The same for what is drawn at random."""
        self.compared[kind] += 1
        if found is None or abs(expected - found) > slack:
            self.faults.append(f"{where}: {kind} is {found}, recomputed {expected} give or take {slack}")


class Run:
    """A run's folder, its tables and its journal."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in ["measurements", "latency", "slowest", "memory"]}
        lines = (folder / "journal.jsonl").read_text().splitlines()
        self.cells = {entry["cell"]: entry for entry in map(json.loads, lines)}
        self.rows = {name: by_cell(table) for name, table in self.tables.items()}

    def samples(self, cell: int) -> np.ndarray | None:
        """The raw words of a cell; the last part of a file's name is the cell's number."""
        found = list(self.folder.glob(f"samples/*-{cell}.bin"))
        return np.fromfile(found[0], dtype="<u8") if found else None


def by_cell(table: pl.DataFrame) -> dict[int, list[dict]]:
    rows = collections.defaultdict(list)
    for row in table.iter_rows(named=True):
        rows[row["cell"]].append(row)
    return rows


def nearest_rank(ordered: np.ndarray, quantile: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    rank = math.ceil(round(quantile * len(ordered), 6))
    return float(ordered[max(rank, 1) - 1])


def check_samples(run: Run, tally: Tally) -> int:
    """All that is made from single calls. Gives the number of calls."""
    total = 0
    for cell, rows in run.rows["measurements"].items():
        if rows[0]["pass"] != "latency" or rows[0]["status"] != "ok":
            continue
        words = run.samples(cell)
        if words is None:
            tally.faults.append(f"cell {cell}: its samples are not there; was the run made with --keep-samples?")
            continue
        total += len(words)
        check_calls(run, tally, cell, words)
    return total


def check_calls(run: Run, tally: Tally, cell: int, words: np.ndarray) -> None:
    switched, kind = words >> 63, (words >> 56) & 0x7F
    phase, ns = (words >> 48) & 0xFF, words & ((1 << 48) - 1)
    names = run.cells[cell]["phases"]
    rows = {(row["phase"], row["operation"]): row for row in run.rows["measurements"][cell] if row["scope"] == "operation"}
    seen = set()
    for number in np.unique(phase * 256 + kind):
        part = names[number // 256], KINDS[number % 256]
        chosen = phase * 256 + kind == number
        seen.add(part)
        check_part(run, tally, cell, part, rows.get(part, {}), np.sort(ns[chosen]), int(switched[chosen].sum()))
    timed = {part for part, row in rows.items() if row["latency_calls"] is not None}
    tally.equal("operations timed", f"cell {cell}", sorted(seen), sorted(timed))
    # Of equal calls the earlier one goes before.
    slowest = np.lexsort((np.arange(len(ns)), -ns.astype(np.int64)))[:10]
    found = sorted(run.rows["slowest"][cell], key=lambda row: row["rank"])
    tally.equal("slowest calls", f"cell {cell}", len(slowest), len(found))
    for at, row in zip(slowest, found):
        where = f"cell {cell}, rank {row['rank']}"
        tally.equal("slowest: call", where, int(at), row["call"])
        tally.equal("slowest: latency_ns", where, int(ns[at]), row["latency_ns"])
        tally.equal("slowest: switched", where, int(switched[at]), row["switched"])
        tally.equal("slowest: operation", where, (names[phase[at]], KINDS[kind[at]]), (row["phase"], row["operation"]))


def check_part(run: Run, tally: Tally, cell: int, part: tuple, row: dict, ordered: np.ndarray, switched: int) -> None:
    """The calls of one kind of operation within a phase."""
    where = f"cell {cell}, {' '.join(part)}"
    tally.equal("latency_calls", where, len(ordered), row.get("latency_calls"))
    tally.equal("latency_calls_switched", where, switched, row.get("latency_calls_switched"))
    tally.equal("latency_ns_max", where, float(ordered[-1]), row.get("latency_ns_max"))
    for name, (quantile, needed) in QUANTILES.items():
        tally.equal(name, where, nearest_rank(ordered, quantile) if len(ordered) >= needed else None, row.get(name))
    buckets = [row for row in run.rows["latency"][cell] if (row["phase"], row["operation"]) == part]
    told = 0
    for bucket in sorted(buckets, key=lambda bucket: bucket["latency_ns_from"]):
        first = np.searchsorted(ordered, bucket["latency_ns_from"], "left")
        beyond = np.searchsorted(ordered, bucket["latency_ns_to"], "right")
        tally.equal("histogram: calls of a bucket", where, int(beyond - first), bucket["calls"])
        told += bucket["calls"]
    tally.equal("histogram: calls of all", where, len(ordered), told)


def check_journal(run: Run, tally: Tally) -> None:
    """What is made from sums and counts that a worker reported."""
    for cell, rows in run.rows["measurements"].items():
        entry = run.cells[cell]
        tally.equal("status", f"cell {cell}", entry["status"], rows[0]["status"])
        if entry["status"] == "ok":
            check_operations(tally, cell, entry, rows)
            check_whole(run, tally, cell, entry, rows)


def check_operations(tally: Tally, cell: int, entry: dict, rows: list[dict]) -> None:
    found = {(row["phase"], row["operation"]): row for row in rows if row["scope"] == "operation"}
    for operation in entry["report"]["operations"]:
        part = entry["phases"][operation["phase"]], operation["kind"]
        row, where, total = found[part], f"cell {cell}, {' '.join(part)}", operation["time_ns"]
        for column in ["calls", "timers"]:
            tally.equal(column, where, operation[column], row[column])
            per = None if total is None or not operation[column] else total / operation[column]
            tally.equal(f"time_ns_per_{column[:-1]}", where, per, row[f"time_ns_per_{column[:-1]}"])
        tally.equal("time_ns_total", where, total, row["time_ns_total"])
        for columns, values in [
            (["entries_visited", "entries_moved", "entries_compared", "entries_cascaded"], operation["counts"]),
            (["allocated_blocks", "allocated_bytes"], operation["allocated"]),
        ]:
            for column, value in zip(columns, values or [None] * len(columns)):
                tally.equal(column, where, value, row[column])
    told = {(row["phase"]): row for row in rows if row["scope"] == "phase"}
    for phase in entry["report"]["phases"] if told else []:
        row, where = told[entry["phases"][phase["phase"]]], f"cell {cell}, phase {phase['phase']}"
        for column in ["wall_ns", "cpu_ns"]:
            tally.equal(column, where, phase[column], row[column])
        for column, value in zip(["faults_minor", "faults_major", "switches_voluntary", "switches_involuntary"], phase["faults"] + phase["switches"]):
            tally.equal(column, where, value, row[column])


def check_whole(run: Run, tally: Tally, cell: int, entry: dict, rows: list[dict]) -> None:
    """Counts of a cell, dhat's account, and bytes for each timer from the memory time line."""
    row = next(row for row in rows if row["scope"] == "cell")
    report, where = entry["report"], f"cell {cell}"
    for column, value in report["outcome"].items():
        if column == "digest":
            tally.equal(column, where, None if value is None else f"{value:016x}", row[column])
        elif column in row:
            tally.equal(column, where, value, row[column])
    for when in ["total", "peak", "end"]:
        values = report["heap"][when] if report["heap"] else [None, None]
        tally.equal("heap_bytes", where, values[0], row[f"heap_bytes_{when}"])
        tally.equal("heap_blocks", where, values[1], row[f"heap_blocks_{when}"])
    line = sorted(run.rows["memory"].get(cell, []), key=lambda sample: sample["step"])
    tally.equal("memory: points", where, len(report["memory"]), len(line))
    for told, sample in zip(report["memory"], line):
        for column in set(told) & set(sample) - {"phase"}:
            tally.equal(f"memory: {column}", f"{where}, step {sample['step']}", told[column], sample[column])
    first = {sample["point"]: sample for sample in reversed(line)}

    def above(point: str, column: str) -> int | None:
        """Bytes at a point above those of the empty worker."""
        if not {point, "empty"} <= first.keys() or first[point][column] is None:
            return None
        return max(first[point][column] - first["empty"][column], 0)

    for column, of in [("live_bytes_per_timer", "live_bytes"), ("resident_bytes_per_timer", "resident_anon_bytes")]:
        bytes_held = above("filled", of)
        per = None if bytes_held is None or not first["filled"]["timers"] else bytes_held / first["filled"]["timers"]
        tally.equal(column, where, per, row[column])
    held = {"container": "container_bytes", "live": "live_bytes", "allocator": "allocator_resident_bytes", "resident": "resident_bytes"}
    for name, of in held.items():
        if f"held_{name}_bytes" in row:
            tally.equal(f"held_{name}_bytes", where, above("drained", of), row[f"held_{name}_bytes"])
    peaks = [sample["resident_peak_bytes"] for sample in line if sample["resident_peak_bytes"] is not None]
    tally.equal("resident_bytes_peak", where, max(peaks, default=None), row["resident_bytes_peak"])
    if "time_ns_per_enqueued" in row:
        times = [operation["time_ns"] for operation in report["operations"]]
        known = times and None not in times and report["outcome"]["enqueued"]
        tally.equal("time_ns_per_enqueued", where, sum(times) / report["outcome"]["enqueued"] if known else None, row["time_ns_per_enqueued"])


def check_csv(run: Run, tally: Tally) -> None:
    """That the CSV twin of each table says the same."""
    for name, table in run.tables.items():
        path = run.folder / f"{name}.csv"
        if not path.exists():
            continue
        twin = pl.read_csv(path, schema=table.schema)
        for column in table.columns:
            mine, other = table[column], twin[column]
            if table.schema[column] == pl.String:
                # In CSV an empty text and none look the same.
                mine, other = mine.fill_null(""), other.fill_null("")
            differing = 0 if mine.equals(other) else int((mine.ne_missing(other)).sum())
            tally.twins += len(mine) - mine.null_count()
            if differing:
                tally.faults.append(f"{name}.csv: {differing} values of {column} differ from those in {name}.parquet")


# -- What is compared across structures ---------------------------------------------------------------------------------


def median_interval(values: np.ndarray, confidence: float) -> tuple:
    """Between the k-th value and the k-th from above, with the greatest k that leaves the confidence."""
    ordered = np.sort(values)
    fits = [k for k in range(1, len(ordered) // 2 + 1) if 1 - 2 * scipy.stats.binom.cdf(k - 1, len(ordered), 0.5) >= confidence]
    return (float(ordered[fits[-1] - 1]), float(ordered[-fits[-1]])) if fits else (None, None)


class Comparison:
    """All rows of one metric at one place: each structure against the baseline."""

    PLACE = ["run", "metric", "workload", "size", "payload", "allocator", "phase", "operation", "point"]

    def __init__(self, run: Run, rows: list[dict]):
        self.rows, self.place = rows, {name: rows[0][name] for name in self.PLACE}
        self.where = ", ".join(str(value) for value in list(self.place.values())[1:] if value is not None)
        self.values = {row["structure"]: self.read(run, row["structure"]) for row in rows}
        self.base = self.values.get(rows[0]["baseline"], {})

    def read(self, run: Run, structure: str) -> dict:
        """The structure's value in each block, or repeat: of the first pass that tells it."""
        metric = self.place["metric"]
        in_time_line = self.place["point"] is not None
        table = run.tables["memory" if in_time_line else "measurements"]
        given = pl.col("parameters").fill_null("")
        label = pl.when(given == "").then("structure").otherwise(pl.concat_str("structure", pl.lit(":"), given))
        names = ["workload", "size", "payload", "allocator", *(["point"] if in_time_line else ["phase", "operation"])]
        here = [pl.col(name).eq_missing(pl.lit(self.place[name])) for name in names]
        if not in_time_line:
            scope = "operation" if self.place["operation"] else "phase" if self.place["phase"] else "cell"
            here.append(pl.col("scope") == scope)
        elif self.place["phase"] is not None and "phase" in table.columns:
            here.append(pl.col("phase") == self.place["phase"])
        rows = table.filter(label == structure, pl.col(metric).is_not_null(), pl.col("status") == "ok", *here)
        for run_pass in PASSES:
            of_pass = rows.filter(pl.col("pass") == run_pass)
            if of_pass.height:
                number = "block" if run_pass in ("time", "latency") else "repeat"
                of_pass = of_pass.unique(number, keep="first", maintain_order=True)
                return dict(zip(of_pass[number], of_pass[metric].cast(pl.Float64)))
        return {}

    def check(self, tally: Tally) -> list[tuple]:
        """Checks each row, and gives the p values that are adjusted together."""
        p_values = []
        for row in self.rows:
            where = f"{row['structure']}: {self.where}"
            values = np.array(list(self.values[row["structure"]].values()))
            low, high = median_interval(values, 0.95)
            for column, expected in [
                ("blocks", len(values)), ("median", float(np.median(values)) if len(values) else None), ("median_low", low), ("median_high", high),
                ("min", float(values.min(initial=math.inf))), ("max", float(values.max(initial=-math.inf))),
            ]:
                tally.equal(f"cmp: {column}", where, expected, row[column])
            if row["ratio"] is not None and row["p"] is None:
                self.check_exact(tally, row, where, values)
            elif row["ratio"] is not None:
                p_values.append(self.check_ratio(tally, row, where))
        return p_values

    def check_exact(self, tally: Tally, row: dict, where: str, values: np.ndarray) -> None:
        """Of counts and memory: the ratio of medians, and the range that the repeats span."""
        base = np.array(list(self.base.values()))
        over = lambda a, b: a / b if b else 1.0 if a == b else None
        tally.equal("cmp: ratio (exact)", where, over(float(np.median(values)), float(np.median(base))), row["ratio"])
        low, high = over(float(values.min()), float(base.max())), over(float(values.max()), float(base.min()))
        if low is not None and high is not None:
            tally.equal("cmp: ratio_low (exact)", where, low, row["ratio_low"])
            tally.equal("cmp: ratio_high (exact)", where, high, row["ratio_high"])

    def check_ratio(self, tally: Tally, row: dict, where: str) -> tuple:
        own = self.values[row["structure"]]
        both = [(self.base[block], own[block]) for block in self.base if block in own]
        base, other = np.array([pair for pair in both if min(pair) > 0]).T
        logs = np.log(other / base)
        ratio = float(np.exp(np.median(logs)))
        tally.equal("cmp: pairs", where, len(logs), row["pairs"])
        tally.equal("cmp: ties", where, int((base == other).sum()), row["ties"])
        tally.equal("cmp: ratio", where, ratio, row["ratio"])
        # A sweep's intervals are each of 95 %; those of a stated comparison hold together (Bonferroni).
        together = 0.95 if row["adjustment"] != "Holm" else 1 - 0.05 / max(row["family"], 1)
        for suffix, confidence in [("", 0.95), ("_together", together)]:
            ends = [None if end is None else math.exp(end) for end in median_interval(logs, confidence)]
            for side, end in zip(["low", "high"], ends):
                tally.equal(f"cmp: ratio_{side}{suffix}", where, end, row[f"ratio_{side}{suffix}"])
        above, below = int((logs > 0).sum()), int((logs < 0).sum())
        p = float(scipy.stats.binomtest(above, above + below).pvalue) if above + below else 1.0
        tally.equal("cmp: p", where, p, row["p"])
        self.check_bootstrap(tally, row, where, base, other)
        return p, row, where

    def check_bootstrap(self, tally: Tally, row: dict, where: str, base: np.ndarray, other: np.ndarray) -> None:
        """Percentiles of the ratio of medians over blocks drawn again; within a quarter of the interval's width."""
        if row["ratio_bootstrap_low"] is None:
            return
        drawn = np.random.default_rng(1).integers(len(base), size=(DRAWS, len(base)))
        ratios = np.median(other[drawn], axis=1) / np.median(base[drawn], axis=1)
        low, high = np.quantile(ratios, [0.025, 0.975])
        # Medians of few blocks take few values, so an end may be one of two neighbours.
        slack = 0.25 * (high - low) + 1e-9 * high
        tally.within("cmp: ratio_bootstrap_low", where, float(low), row["ratio_bootstrap_low"], slack)
        tally.within("cmp: ratio_bootstrap_high", where, float(high), row["ratio_bootstrap_high"], slack)


def adjusted(p: list[float], how: str) -> list[float]:
    """Holm's step-down or Benjamini and Hochberg's step-up procedure."""
    if how == "Benjamini-Hochberg":
        return list(scipy.stats.false_discovery_control(p, method="bh"))
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(steps, 1)
    return list(found)


def check_comparison(run: Run, path: pathlib.Path, tally: Tally) -> None:
    table = pl.read_csv(path, infer_schema_length=None)
    if not table.height:
        sys.exit(f"{path} has no rows")
    families = collections.defaultdict(list)
    for key, rows in table.group_by(Comparison.PLACE, maintain_order=True):
        comparison = Comparison(run, rows.to_dicts())
        how = rows["adjustment"][0]
        # One stated comparison a place; a sweep is one family over all.
        families[key if how == "Holm" else how] += comparison.check(tally)
    for found in families.values():
        p_values = [p for p, _, _ in found]
        for expected, (_, row, where) in zip(adjusted(p_values, found[0][1]["adjustment"]) if found else [], found):
            tally.equal("cmp: p_adjusted", where, float(expected), row["p_adjusted"])
            tally.equal("cmp: family", where, len(found), row["family"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="folder of a run made with --keep-samples")
    parser.add_argument("--cmp", type=pathlib.Path, action="append", default=[], help="what `harness cmp RUN --format csv` printed; repeatable")
    arguments = parser.parse_args()
    run, tally = Run(arguments.run), Tally()
    calls = check_samples(run, tally)
    check_journal(run, tally)
    check_csv(run, tally)
    for path in arguments.cmp:
        check_comparison(run, path, tally)
    if not calls:
        sys.exit(f"{arguments.run} has no single calls; measure it with `--measure latency --keep-samples`")
    for kind, count in sorted((+tally.compared).items()):
        print(f"{count:>9,}  {kind}")
    for fault in tally.faults[:40]:
        print(fault, file=sys.stderr)
    print(
        f"{tally.compared.total():,} figures recomputed from {calls:,} single calls and {len(run.cells):,} cells, and "
        f"{tally.twins:,} values of the CSV files beside them: {len(tally.faults):,} differ"
    )
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
