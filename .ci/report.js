// Looks at a report from within the page, and returns its faults in words. Called by report.py at each width and scheme.
() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const all = [...document.body.querySelectorAll("*")];

  const nameOf = (element) => {
    const id = element.id ? `#${element.id}` : "";
    const kind = typeof element.className === "string" && element.className ? `.${element.className.trim().split(/\s+/)[0]}` : "";
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    const around = element.closest("[id]");
    const place = !id && around ? ` in #${around.id}` : "";
    return `<${element.tagName.toLowerCase()}${id}${kind}>${place}${text ? ` "${text}"` : ""}`;
  };
  const fault = (what, element) => faults.push(element ? `${what}: ${nameOf(element)}` : what);
  const box = (element) => element.getBoundingClientRect();
  const drawn = (element) => {
    const { width, height } = box(element);
    return width > 0 && height > 0 && element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  };
  // Text for screen readers alone is clipped to a dot on purpose.
  const isDot = (element) => box(element).width <= 1 || box(element).height <= 1;
  const scrolls = (element) => {
    for (let at = element; at && at !== document.documentElement; at = at.parentElement)
      if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return true;
    return false;
  };

  // Nothing overflows.
  const root = document.scrollingElement;
  if (root.scrollWidth > width) fault(`the page is ${root.scrollWidth} px wide on ${width}`);
  for (const element of all.filter((element) => !(element instanceof SVGElement) && drawn(element) && !isDot(element))) {
    const { left, right } = box(element);
    const style = getComputedStyle(element);
    if ((right > width + 1 || left < -1) && !scrolls(element.parentElement)) fault(`reaches from ${left.toFixed(0)} to ${right.toFixed(0)} px of ${width}`, element);
    if (style.display.startsWith("inline") || element.clientWidth === 0 || element.scrollWidth <= element.clientWidth + 1) continue;
    if (/hidden|clip/.test(style.overflowX)) fault(`is cut off: ${element.scrollWidth} px in ${element.clientWidth}`, element);
    if (style.overflowX === "visible" && !scrolls(element.parentElement)) fault(`holds ${element.scrollWidth} px in ${element.clientWidth}`, element);
  }

  // Every figure is drawn.
  const SHAPES = "path,line,rect,circle,ellipse,polyline,polygon,use,image";
  const numbersOf = ["d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points", "transform", "viewBox"];
  for (const figure of document.querySelectorAll("figure")) {
    if (!drawn(figure) || box(figure).height < 20) fault("a figure that is not to be seen", figure);
    if (!figure.querySelector("svg,img,table,canvas,pre")) fault("a figure without a drawing", figure);
    if (!figure.querySelector("figcaption") && !figure.closest("section")) fault("a figure without a caption", figure);
  }
  for (const svg of document.querySelectorAll("svg:not(svg svg)")) {
    if (svg.getAttribute("aria-hidden") === "true" && box(svg).width < 64) continue; // a mark beside a word
    const frame = box(svg);
    const shapes = [...svg.querySelectorAll(SHAPES)].filter((shape) => !shape.closest("defs,clipPath,marker,pattern,symbol"));
    const seen = shapes.filter((shape) => box(shape).width + box(shape).height > 0);
    if (!drawn(svg) || frame.width < 40 || frame.height < 16) fault(`a drawing of ${frame.width.toFixed(0)} x ${frame.height.toFixed(0)} px`, svg);
    if (seen.length < 2) fault(`a drawing with ${seen.length} shapes`, svg);
    if (!svg.querySelector("title") && !svg.getAttribute("aria-label") && !svg.getAttribute("aria-labelledby") && !svg.closest("figure")?.querySelector("figcaption"))
      fault("a drawing without a name for those who do not see it", svg);
    for (const shape of svg.querySelectorAll("*"))
      for (const attribute of numbersOf)
        if (/NaN|Infinity|undefined|inf\b/.test(shape.getAttribute(attribute) || "")) fault(`${attribute}="${shape.getAttribute(attribute).slice(0, 40)}"`, shape);
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() && drawn(text));
    for (const text of texts) {
      const { left, right, top, bottom } = box(text);
      if (left < frame.left - 1.5 || right > frame.right + 1.5 || top < frame.top - 1.5 || bottom > frame.bottom + 1.5) fault("text beyond the edge of its drawing", text);
      const scale = Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b);
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < 7) fault(`text of ${size.toFixed(1)} px`, text);
    }
    const upright = texts.filter((text) => Math.abs(text.getScreenCTM().b) < 1e-6);
    for (let i = 0; i < upright.length; i++)
      for (let j = i + 1; j < upright.length; j++) {
        const [a, b] = [box(upright[i]), box(upright[j])];
        const over = Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
        // A line of text is higher than its letters, so that neighbours may share a little.
        if (over > 0.3 * Math.min(a.width * a.height, b.width * b.height)) fault(`text on text ("${upright[j].textContent.trim().slice(0, 30)}")`, upright[i]);
      }
  }

  // Text can be read.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const canvasColour = rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff");
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), canvasColour);
  };
  const shapeBehind = (text) => {
    const { left, right, top, bottom } = box(text);
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    let below = behind(text.ownerSVGElement.parentElement);
    below = over(rgba(getComputedStyle(text.ownerSVGElement).backgroundColor), below);
    for (const shape of text.ownerSVGElement.querySelectorAll("rect,circle,polygon")) {
      if (shape.closest("defs,clipPath,marker,pattern") || !(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
      const of = box(shape);
      const style = getComputedStyle(shape);
      if (of.left > x || of.right < x || of.top > y || of.bottom < y || style.fill === "none" || style.fill.startsWith("url")) continue;
      const colour = rgba(style.fill);
      below = over([...colour.slice(0, 3), colour[3] * style.fillOpacity * style.opacity], below);
    }
    return below;
  };
  const said = new Set();
  const readable = (element, colour, below) => {
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const found = contrast(over(colour, below), below);
    const what = `contrast ${found.toFixed(1)}, ${needed} is needed`;
    const key = `${what} ${element.tagName} ${element.getAttribute("class")}`;
    if (found < needed && !said.has(key)) said.add(key), fault(what, element);
  };
  for (const element of all) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!own || !drawn(element) || isDot(element) || /^(STYLE|SCRIPT|TITLE|DESC)$/i.test(element.tagName)) continue;
    if (!(element instanceof SVGElement)) readable(element, rgba(getComputedStyle(element).color), behind(element));
    else if (element.closest("text")) readable(element, rgba(getComputedStyle(element).fill), shapeBehind(element.closest("text")));
  }

  // The page hangs together.
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) fault(`two elements are called #${id}`);
  for (const link of document.querySelectorAll('a[href^="#"]'))
    if (link.getAttribute("href").length > 1 && !document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)))) fault("a link to nowhere", link);
  const lost = document.body.innerText.match(/.{0,30}\b(NaN|undefined|Infinity|\[object)\b.{0,20}/);
  if (lost) fault(`the text says "${lost[0].trim()}"`);
  if (!document.title.trim()) fault("the page has no title");
  if (!document.documentElement.lang) fault("the page does not say its language");
  if (!document.querySelector("h1")) fault("the page has no first heading");

  return {
    faults,
    figures: document.querySelectorAll("figure").length,
    drawings: document.querySelectorAll("svg:not(svg svg)").length,
    tables: document.querySelectorAll("table").length,
    words: document.body.innerText.split(/\s+/).length,
    height: root.scrollHeight,
    background: luminance(behind(document.body)),
  };
}
