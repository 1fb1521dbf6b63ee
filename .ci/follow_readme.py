"""Follows the README's recipe "Add a structure" to the letter, on a copy of the repository.

Every block of the README whose first line is `// file: PATH` is written to PATH, a block that begins with
`// registry line` is put where the recipe says, and the `$`-less commands of the recipe's `sh` block are run.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
recipe = (root / "README.md").read_text().split("## Add a structure", 1)[1].split("\n## ", 1)[0]
blocks = re.findall(r"```(\w+)\n(.*?)```", recipe, re.S)
listing = [text for kind, text in blocks if text.startswith("// file: ")]
lines = [text for kind, text in blocks if text.startswith("// registry line")]
commands = [line for kind, text in blocks if kind == "sh" for line in text.splitlines() if line]
if not (listing and len(lines) == 1 and commands):
    sys.exit("README.md, `Add a structure`: a listing, one registry line and a block of commands are expected")

with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder) / "workbench"
    # The target folder comes along, so that no dependency is built again.
    shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "asan", "results"))
    (copy / "results").mkdir()
    for text in listing:
        path, body = text.removeprefix("// file: ").split("\n", 1)
        (copy / path.strip()).write_text(body)
    registry = copy / "impls/src/lib.rs"
    before = '            "reference" =>'
    text = registry.read_text()
    if text.count(before) != 1:
        sys.exit(f"impls/src/lib.rs: expected once: {before}")
    line = lines[0].split("\n", 1)[1]
    registry.write_text(text.replace(before, line + before))
    for command in commands:
        print(f"-- {command}", flush=True)
        subprocess.run(command, shell=True, cwd=copy, check=True)
