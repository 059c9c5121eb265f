// Sections: the cells of a plane, each in one colour, with the cross-hair and the borders of materials.
"use strict";

const MARGIN = { left: 42, right: 18, top: 6, bottom: 20 };
const STEEPEST = 12; // of width over height, and of height over width, drawn to scale
const VOID = 0xff9a9a9a;

// The cell of each pixel along a side: n pixels over places between faces.
function cellsOfPixels(faces, n, reversed) {
  const found = new Int32Array(n), low = faces[0], span = faces[faces.length - 1] - low;
  let cell = 0;
  for (let i = 0; i < n; i++) {
    const place = low + ((i + 0.5) / n) * span;
    while (cell < faces.length - 2 && place >= faces[cell + 1]) cell++;
    found[reversed ? n - 1 - i : i] = cell;
  }
  return found;
}

class Section {
  // normal: 0, 1, 2 for x, y, z.
  constructor(viewer, normal, figure) {
    this.viewer = viewer;
    this.normal = normal;
    [this.across, this.up] = [0, 1, 2].filter((axis) => axis !== normal);
    this.caption = figure.querySelector("figcaption");
    this.canvas = figure.querySelector("canvas");
    this.place = null;
    this.ratio = viewer.span(this.across) / viewer.span(this.up); // width over height, as far as that can be drawn
    const { lengths } = viewer.about, alike = lengths[this.across] === lengths[this.up];
    this.stretched = !alike || this.ratio > STEEPEST || this.ratio < 1 / STEEPEST;
    figure.style.setProperty("--ratio", this.stretched ? 1 : this.ratio);
    this.listen();
  }

  listen() {
    const { canvas, viewer } = this;
    const point = (event) => {
      const box = canvas.getBoundingClientRect(), p = this.place;
      if (!p) return;
      const x = (event.clientX - box.left - p.left) / p.width, y = 1 - (event.clientY - box.top - p.top) / p.height;
      viewer.setCursor(this.across, viewer.placeAt(this.across, x));
      viewer.setCursor(this.up, viewer.placeAt(this.up, y));
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); point(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      viewer.moveCursor(this.normal, event.deltaY < 0 ? 1 : -1);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [this.across, -1], ArrowRight: [this.across, 1], ArrowDown: [this.up, -1],
        ArrowUp: [this.up, 1], PageDown: [this.normal, -1], PageUp: [this.normal, 1] };
      if (moves[event.key]) { event.preventDefault(); viewer.moveCursor(...moves[event.key]); }
    });
  }

  draw() {
    const { viewer } = this, drawn = prepared(this.canvas);
    const place = this.place = this.layOut(drawn.width, drawn.height);
    const columns = Math.round(place.width * drawn.ratio), rows = Math.round(place.height * drawn.ratio);
    if (columns < 1 || rows < 1) return;
    const picture = new ImageData(columns, rows);
    this.paint(new Uint32Array(picture.data.buffer), columns, rows);
    drawn.context.putImageData(picture, Math.round(place.left * drawn.ratio), Math.round(place.top * drawn.ratio));
    this.drawAxes(drawn.context, place);
    this.drawCross(drawn.context, place);
    const { symbols, lengths } = viewer.about, at = viewer.cursor[this.normal];
    const units = [...new Set([lengths[this.across], lengths[this.up]])].join(" and ");
    const stretched = place.stretched ? ", not to scale" : "";
    this.caption.textContent =
      `${symbols[this.normal]} = ${viewer.tidyPlace(at, this.normal)} ${lengths[this.normal]}   ` +
      `(${symbols[this.across]} to the right, ${symbols[this.up]} up, ${units}${stretched})`;
  }

  layOut(width, height) {
    const free = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    const { ratio, stretched } = this;
    const wide = stretched ? free.width : Math.min(free.width, free.height * ratio);
    const high = stretched ? Math.min(free.height, free.width) : Math.min(free.height, free.width / ratio);
    return { left: MARGIN.left, top: MARGIN.top, width: Math.max(1, wide), height: Math.max(1, high), stretched };
  }

  paint(words, columns, rows) {
    const { viewer } = this, frame = viewer.frame, table = viewer.scale.tableFor(frame, viewer.about.levels);
    const strides = viewer.strides, numbers = frame.numbers, { ids, ambient } = viewer.materials;
    const x = cellsOfPixels(viewer.faces[this.across], columns, false);
    const y = cellsOfPixels(viewer.faces[this.up], rows, true);
    const base = viewer.cell[this.normal] * strides[this.normal];
    for (let row = 0, p = 0; row < rows; row++) {
      const line = base + y[row] * strides[this.up];
      const above = row ? base + y[row - 1] * strides[this.up] : line;
      for (let column = 0; column < columns; column++, p++) {
        const i = line + x[column] * strides[this.across];
        if (!ids) { words[p] = table[numbers[i]]; continue; }
        words[p] = ambient[ids[i]] ? VOID : table[numbers[i]];
        const left = column ? line + x[column - 1] * strides[this.across] : i;
        const over = above + x[column] * strides[this.across];
        if (ids[i] !== ids[left] || ids[i] !== ids[over]) words[p] = 0xff000000;
      }
    }
  }

  drawAxes(context, place) {
    const { viewer } = this;
    context.fillStyle = themeColour("quiet");
    context.textBaseline = "top";
    context.textAlign = "center";
    const [left, right] = viewer.ends(this.across), [bottom, top] = viewer.ends(this.up);
    const across = ticks(left, right, Math.max(2, place.width / 70)), up = ticks(bottom, top, Math.max(2, place.height / 45));
    for (const value of across) {
      const x = place.left + ((value - left) / (right - left)) * place.width;
      context.fillRect(x - 0.5, place.top + place.height, 1, 4);
      context.fillText(tidy(value, digitsOf(across)), x, place.top + place.height + 5);
    }
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const value of up) {
      const y = place.top + place.height - ((value - bottom) / (top - bottom)) * place.height;
      context.fillRect(place.left - 4, y - 0.5, 4, 1);
      context.fillText(tidy(value, digitsOf(up)), place.left - 6, y);
    }
    context.textAlign = "left";
  }

  drawCross(context, place) {
    const { viewer } = this, [left, right] = viewer.ends(this.across), [bottom, top] = viewer.ends(this.up);
    const x = place.left + ((viewer.cursor[this.across] - left) / (right - left)) * place.width;
    const y = place.top + place.height - ((viewer.cursor[this.up] - bottom) / (top - bottom)) * place.height;
    for (const [colour, width] of [["rgba(0,0,0,0.55)", 2.5], ["rgba(255,255,255,0.9)", 1]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(place.left, y);
      context.lineTo(place.left + place.width, y);
      context.moveTo(x, place.top);
      context.lineTo(x, place.top + place.height);
      context.stroke();
    }
  }
}
