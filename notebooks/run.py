"""Runs the notebooks from scratch, in a copy, and fails where a cell does.

    python notebooks/run.py                    run all
    python notebooks/run.py --check            and compare what they print with what is committed
    python notebooks/run.py --write            and put the new outputs into the committed files
    python notebooks/run.py 1-comparison ...   these alone

Nothing that changes without the data is kept: no execution counts, no times, no metadata of an editor. `--check`
compares text; drawings are renewed by `--write`, and not compared, since fonts are drawn a little differently from machine to machine.
"""

import argparse
import difflib
import os
import pathlib
import shutil
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 300


def executed(path: pathlib.Path, folder: pathlib.Path) -> nbformat.NotebookNode:
    """The notebook with outputs of its own, made in `folder`."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}},
        config=Config({"KernelManager": {"transport": "ipc", "ip": str(folder / "kernel")}}),
    )
    client.execute()
    return stripped(notebook)


def stripped(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without all that differs from one execution to the next; printed text in one piece."""
    notebook.metadata = {"language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = joined(cell.outputs)
    return notebook


def joined(outputs: list) -> list:
    kept = []
    for output in outputs:
        if "execution_count" in output:
            output.execution_count = None
        if kept and output.output_type == "stream" == kept[-1].output_type and output.name == kept[-1].name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def warnings(notebook: nbformat.NotebookNode) -> list[str]:
    """What was said on stderr: a notebook that is committed is quiet."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]


def text(notebook: nbformat.NotebookNode) -> list[str]:
    """All that a notebook says: its cells, and the outputs that are text."""
    lines = []
    for number, cell in enumerate(notebook.cells, 1):
        lines += [f"-- cell {number}", *cell.source.splitlines()]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            told = output.get("text") or data.get("text/markdown") or data.get("text/plain", "")
            lines += [f"-- output of cell {number}", *told.splitlines()]
    return lines


def differences(path: pathlib.Path, new: nbformat.NotebookNode) -> list[str]:
    old = nbformat.read(path, as_version=4)
    return list(difflib.unified_diff(text(old), text(new), "committed", "executed", lineterm="", n=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="notebooks, without .ipynb; all when none is named")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="fail where text outputs are not the committed ones")
    what.add_argument("--write", action="store_true", help="renew the committed outputs")
    arguments = parser.parse_args()
    paths = [HERE / f"{name}.ipynb" for name in arguments.names] or sorted(HERE.glob("*.ipynb"))
    if not paths:
        sys.exit(f"{HERE} holds no notebook")
    # The kernel is this Python, and finds the tables from wherever the copy lies.
    os.environ.setdefault("WORKBENCH_RESULTS", str(HERE.parent / "results" / "reference"))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        shutil.copy(HERE / "workbench.py", copy)
        for path in paths:
            failed += not run(path, copy, arguments)
    return 1 if failed else 0


def run(path: pathlib.Path, copy: pathlib.Path, arguments: argparse.Namespace) -> bool:
    """Runs one notebook; whether all is well."""
    try:
        notebook = executed(path, copy)
    except CellExecutionError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return False
    said = warnings(notebook)
    changed = differences(path, notebook) if arguments.check else []
    if arguments.write:
        nbformat.write(notebook, path)
    for line in [*said, *changed[:60]]:
        print(f"{path.name}: {line}", file=sys.stderr)
    if changed:
        print(f"{path.name}: not what is committed; `python notebooks/run.py --write` renews it", file=sys.stderr)
    print(f"{path.name}: {len(notebook.cells)} cells ran", flush=True)
    return not (said or changed)


if __name__ == "__main__":
    sys.exit(main())
