"""Looks at a report in headless Chromium: python3 .ci/report.py FILE.html [--shots DIR]

At 1280 and 400 pixels, light and dark: the page loads without an error and asks nothing of any network, every figure is
drawn, nothing overflows, text stands within its drawing, on no other text, and can be told from what is behind it. It reads the same without
scripts. What is looked at is in report.js; `--shots` keeps what was seen as PNG. Exit status 1 with any fault.
"""

import argparse
import pathlib
import shutil
import sys

from playwright.sync_api import Browser, Page, sync_playwright

LOOK = pathlib.Path(__file__).with_name("report.js").read_text()
WIDTHS = [1280, 400]
SCHEMES = ["light", "dark"]
# Chromium draws no larger picture.
HIGHEST = 15_000


def opened(browser: Browser, file: pathlib.Path, width: int, scheme: str, faults: list[str], scripts: bool = True) -> Page:
    """The page as it is seen; what goes wrong while it loads is added to the faults."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts, reduced_motion="reduce"
    )
    page = context.new_page()
    own = file.as_uri()

    def asked(route):
        url = route.request.url
        if url.split("#")[0] == own or url.startswith("data:"):
            return route.continue_()
        faults.append(f"the page asks for {url}")
        return route.abort()

    page.route("**/*", asked)
    page.on("console", lambda message: faults.append(f"console: {message.text}") if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.goto(own, wait_until="load")
    return page


def photograph(page: Page, path: pathlib.Path, height: int) -> None:
    """The whole page, in as many pictures as it needs."""
    width = page.viewport_size["width"]
    for part, top in enumerate(range(0, height, HIGHEST), 1):
        name = path.with_name(f"{path.stem}{'' if height <= HIGHEST else f'-{part}'}.png")
        clip = {"x": 0, "y": top, "width": width, "height": min(HIGHEST, height - top)}
        page.screenshot(path=name, full_page=True, clip=clip)


def look(browser: Browser, file: pathlib.Path, shots: pathlib.Path | None) -> list[str]:
    """All faults of a file, each with the widths and schemes where it was seen."""
    where, backgrounds, words = {}, {}, {}
    for width in WIDTHS:
        for scheme in SCHEMES:
            faults = []
            page = opened(browser, file, width, scheme, faults)
            seen = page.evaluate(LOOK)
            backgrounds[scheme], words[scheme] = seen["background"], seen["words"]
            for fault in [*faults, *seen["faults"]]:
                where.setdefault(fault, []).append(f"{width} {scheme}")
            if shots:
                photograph(page, shots / f"{file.stem}-{width}-{scheme}.png", seen["height"])
            print(f"{file.name} at {width} px, {scheme}: {seen['figures']} figures, {seen['drawings']} drawings, {seen['tables']} tables, {seen['height']:,} px high")
            page.context.close()
    found = [f"{fault} ({', '.join(places)})" for fault, places in where.items()]
    if not seen["drawings"]:
        found.append("there is no drawing in it")
    if backgrounds["light"] < 0.5 or backgrounds["dark"] > 0.2:
        found.append("light is not light, or dark not dark")
    faults = []
    page = opened(browser, file, WIDTHS[0], "light", faults, scripts=False)
    bare = len(page.inner_text("body").split())
    page.context.close()
    if bare < words["light"]:
        found.append(f"without scripts it has {bare} words of {words['light']}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.html")
    parser.add_argument("--shots", type=pathlib.Path, help="folder for pictures of what was seen")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        sys.exit("no Chromium is installed; `apt-get install chromium` does it")
    if arguments.shots:
        arguments.shots.mkdir(parents=True, exist_ok=True)
    found = []
    with sync_playwright() as playwright:
        # A container has no user namespaces for Chromium's own sandbox; the file is our own.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for file in arguments.files:
            found += [f"{file.name}: {fault}" for fault in look(browser, file.resolve(strict=True), arguments.shots)]
        browser.close()
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
