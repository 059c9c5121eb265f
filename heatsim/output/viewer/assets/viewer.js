// The viewer: which frame and place are shown, and what the reader's hands do.
"use strict";

const byId = (id) => document.getElementById(id);
const POLL_MS = 1000; // between looks for new frames of a run that goes on
const PLAY_MS = 120;

class Viewer {
  constructor(about) {
    this.about = about;
    this.faces = ["x", "y", "z"].map((axis) => about.faces[axis]);
    const [, ny, nx] = about.shape;
    this.strides = [1, nx, nx * ny];
    this.frames = [];
    this.number = 0;
    this.opensAt = about.live ? 0 : about.opensAt;
    this.scale = new ColourScale(about.colours);
    this.range = "run";
    this.materials = { ids: null, names: [], ambient: [] };
    this.cursor = this.faces.map((faces) => 0.5 * (faces[0] + faces[faces.length - 1]));
    this.cell = this.cursor.map((place, axis) => this.cellAt(axis, place));
  }

  get frame() { return this.frames[this.number]; }
  ends(axis) { return [this.faces[axis][0], this.faces[axis][this.faces[axis].length - 1]]; }
  span(axis) { const [low, high] = this.ends(axis); return high - low; }
  placeAt(axis, share) { const [low, high] = this.ends(axis); return low + Math.min(1, Math.max(0, share)) * (high - low); }
  tidyPlace(place, axis) { return tidy(place, Math.max(0, 3 - Math.floor(Math.log10(this.span(axis)) + 1e-9))); }
  index() { return this.cell.reduce((sum, cell, axis) => sum + cell * this.strides[axis], 0); }
  // The value of a cell of the body; of one that is not solved that of its ambient, null where that has none.
  valueOf(frame, i) {
    const { ids, ambient } = this.materials;
    if (ids && ambient[ids[i]]) return frame.outside[ids[i]];
    return frame.low + (frame.high - frame.low) * (frame.numbers[i] / this.about.levels);
  }
  withUnit(value, digits) { return `${tidy(value, digits)} ${this.about.unit}`.trim(); }
  timeOf(frame) { return frame.time === null ? null : frame.time / this.about.time.seconds; }

  cellAt(axis, place) {
    const faces = this.faces[axis];
    let [low, high] = [0, faces.length - 2];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (place >= faces[middle]) low = middle; else high = middle - 1;
    }
    return low;
  }

  setCursor(axis, place) {
    this.cursor[axis] = place;
    this.cell[axis] = this.cellAt(axis, place);
    this.redraw();
  }

  moveCursor(axis, by) {
    const faces = this.faces[axis], cell = Math.min(faces.length - 2, Math.max(0, this.cell[axis] + by));
    this.setCursor(axis, 0.5 * (faces[cell] + faces[cell + 1]));
  }

  // --- loading

  async start() {
    const { about } = this;
    document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    byId("title").textContent = about.title;
    if (about.materials) {
      this.materials = { ...about.materials, ids: await gunzip(await this.data("materials")) };
    }
    byId("loadable").textContent = byId("bar").max = about.frames.length;
    this.sections = this.makeSections();
    await this.take(about.frames);
    if (about.live) await this.follow();
  }

  async data(name) {
    const embedded = byId(name);
    if (!embedded) {
      const answer = await fetch(name);
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      return new Uint8Array(await answer.arrayBuffer());
    }
    const bytes = fromBase64(embedded.textContent);
    embedded.remove();
    return bytes;
  }

  // Decodes frames that are not here yet; the one at which the page opens shows it.
  async take(list) {
    for (let n = this.frames.length; n < list.length; n++) {
      const bytes = await this.data(`frame-${n}`);
      const before = list[n].fromBefore ? this.frames[n - 1].numbers : null;
      const followed = this.about.live && this.number === this.frames.length - 1;
      this.frames.push({ ...list[n], numbers: await decodeFrame(bytes, this.about.shape, before) });
      byId("loaded").textContent = byId("bar").value = n + 1;
      byId("time").max = n;
      if (n === this.opensAt) this.show(n); else if (followed) this.setFrame(n);
    }
    if (!this.frames.length) return;
    byId("play").hidden = byId("time").hidden = this.frames.length < 2;
    this.setRange(this.range);
    this.redraw();
  }

  show(number) {
    byId("loading").hidden = true;
    this.number = number;
    byId("time").value = number;
    this.goToHottest();
    this.volume = null;
    this.setRange("run");
    const figure = byId("volume"), note = figure.querySelector("figcaption");
    if (!this.solidVolume) {
      figure.hidden = byId("volume-controls").hidden = true;
    } else {
      try {
        this.volume = new Volume(this, figure);
      } catch (error) {
        note.textContent = `no volume: ${error.message}`;
        byId("volume-controls").hidden = true;
        figure.querySelector("canvas").hidden = true;
      }
    }
    this.chart = new Chart(byId("chart").querySelector("canvas"), (place) => this.choose(place));
    this.listen();
    this.redraw();
  }

  // Puts the cross-hair at the hottest cell of the body, that nearest to the middle of the box if there are several.
  goToHottest() {
    const { frame, materials } = this, { ids, ambient } = materials, counts = this.faces.map((faces) => faces.length - 1);
    let [best, most, nearest] = [-1, -1, Infinity];
    for (let i = 0; i < frame.numbers.length; i++) {
      if ((ids && ambient[ids[i]]) || frame.numbers[i] < most) continue;
      const away = counts.reduce((sum, n, axis) => sum + Math.abs(Math.floor(i / this.strides[axis]) % n - 0.5 * (n - 1)) / n, 0);
      if (frame.numbers[i] > most || away < nearest) [best, most, nearest] = [i, frame.numbers[i], away];
    }
    if (best < 0) return;
    this.cell = counts.map((n, axis) => Math.floor(best / this.strides[axis]) % n);
    this.cursor = this.cell.map((cell, axis) => 0.5 * (this.faces[axis][cell] + this.faces[axis][cell + 1]));
  }

  makeSections() {
    const [nz, ny, nx] = this.about.shape, resolved = [nx, ny, nz].map((n) => n > 1);
    const count = resolved.filter(Boolean).length;
    this.solidVolume = count === 3 && this.about.cartesian;
    const flat = count === 3 ? -1 : resolved.lastIndexOf(false);
    byId("views").classList.toggle("single", count < 3);
    const found = [];
    for (const [normal, name] of ["x", "y", "z"].entries()) {
      const figure = byId(`section-${name}`);
      figure.hidden = flat >= 0 && normal !== flat;
      if (!figure.hidden) found.push(new Section(this, normal, figure));
    }
    return found;
  }

  // Looks for new frames of a run that goes on, until it ends.
  async follow() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      try {
        const about = await (await fetch("about")).json();
        this.about.probes = about.probes;
        await this.take(about.frames);
        if (!about.live) return;
      } catch (error) {
        byId("note").textContent = "the server does not answer any more";
        return;
      }
    }
  }

  // --- what is shown

  setFrame(number) {
    this.number = Math.min(this.frames.length - 1, Math.max(0, number));
    byId("time").value = this.number;
    if (this.range === "frame") this.setRange("frame");
    this.redraw();
  }

  setRange(range) {
    this.range = range;
    const frames = range === "frame" ? [this.frame] : this.frames;
    if (Array.isArray(range)) this.scale.setRange(...range);
    else this.scale.setRange(Math.min(...frames.map((each) => each.least)), Math.max(...frames.map((each) => each.greatest)));
    byId("range-low").value = Number(this.scale.low.toPrecision(7));
    byId("range-high").value = Number(this.scale.high.toPrecision(7));
  }

  volumeControls() {
    const axis = byId("cut-axis").value;
    return {
      shown: byId("shown").value, threshold: Number(byId("threshold").value), opacity: Number(byId("opacity").value),
      cutAxis: axis === "" ? null : Number(axis), cut: Number(byId("cut").value),
    };
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  draw() {
    const { about, frame } = this;
    this.drawReadout();
    this.drawControls(); // which leave the colour bar more room or less
    this.sections.forEach((section) => section.draw());
    if (this.volume) this.volume.draw();
    drawColourBar(byId("scale").querySelector("canvas"), this.scale, `${about.field}${about.unit && ` (${about.unit})`}`);
    this.drawChart();
    const time = this.timeOf(frame);
    byId("clock").textContent = time === null ? "steady state" : `${tidy(time, this.timeDigits())} ${about.time.unit}`;
    const missing = about.frames.length > this.frames.length ? `, ${this.frames.length} read` : "";
    const coarse = about.coarsening > 1 ? `, means of ${about.coarsening} cells along each axis` : "";
    const thinned = about.every > 1 ? `, every ${about.every}th snapshot` : "";
    byId("note").textContent = `${about.frames.length} ${about.frames.length === 1 ? "time" : "times"}${missing}, ${about.shape.slice().reverse().join(" × ")} cells${coarse}${thinned}`;
  }

  timeDigits() {
    const times = this.frames.map((frame) => this.timeOf(frame));
    return times.length < 2 ? 3 : Math.max(1, digitsOf([0, (times[times.length - 1] - times[0]) / (times.length - 1)]) + 1);
  }

  drawReadout() {
    const { about, frame } = this, i = this.index(), { ids, names } = this.materials, value = this.valueOf(frame, i);
    byId("value").textContent = value === null ? "not solved" : this.withUnit(value, frame.digits);
    const places = this.cursor.map((place, axis) => `${about.symbols[axis]} = ${this.tidyPlace(place, axis)} ${about.lengths[axis]}`);
    byId("place").textContent = [...places, ids ? names[ids[i]] : ""].join("\n");
  }

  // The numbers of the sliders, and which of them count.
  drawControls() {
    const { scale, about } = this, { shown, threshold, opacity, cutAxis, cut } = this.volumeControls();
    const digits = digitsOf([0, (scale.high - scale.low) / 100]);
    byId("threshold-name").textContent = { hot: "from", cold: "below", surface: "at" }[shown] || "";
    // What is cold is counted from the upper end of the scale.
    const share = shown === "cold" ? 1 - threshold : threshold;
    byId("threshold-shown").textContent = this.withUnit(scale.low + share * (scale.high - scale.low), digits);
    byId("opacity-shown").textContent = `${Math.round(100 * opacity)} %`;
    for (const id of ["threshold", "opacity"]) byId(id).parentElement.hidden = shown === "body";
    byId("cut").parentElement.hidden = cutAxis === null;
    if (cutAxis === null) return;
    byId("cut-shown").textContent =
      `${about.symbols[cutAxis]} = ${this.tidyPlace(this.placeAt(cutAxis, cut), cutAxis)} ${about.lengths[cutAxis]}`;
  }

  drawChart() {
    const { about } = this, steady = this.timeOf(this.frame) === null || this.frames.length < 2;
    if (steady) { this.drawProfile(); return; }
    const unit = `t (${about.time.unit})`, seconds = about.time.seconds;
    const times = this.frames.map((frame) => this.timeOf(frame));
    const probes = about.probes && about.probes.names.map((name, n) =>
      ({ name, x: about.probes.times.map((time) => time / seconds), y: about.probes.values[n] }));
    const here = { name: "at the cross-hair", x: times, y: this.frames.map((frame) => this.valueOf(frame, this.index())) };
    this.chart.draw([...(probes || []), here], this.timeOf(this.frame), unit, about.time.unit);
  }

  // Along the longest axis, through the cross-hair, as far as that lies in the body.
  drawProfile() {
    const counts = this.faces.map((faces) => faces.length - 1), axis = counts.indexOf(Math.max(...counts));
    const start = this.index() - this.cell[axis] * this.strides[axis], x = [], y = [];
    for (let n = 0; n < counts[axis]; n++) {
      x.push(0.5 * (this.faces[axis][n] + this.faces[axis][n + 1]));
      const i = start + n * this.strides[axis], { ids, ambient } = this.materials;
      y.push(ids && ambient[ids[i]] ? null : this.valueOf(this.frame, i));
    }
    const symbol = this.about.symbols[axis];
    this.profileAxis = axis;
    this.chart.draw([{ name: `along ${symbol}`, x, y }], this.cursor[axis], `${symbol} (${this.about.lengths[axis]})`);
  }

  // The frame nearest to a place on the chart, or the place itself where that is one in space.
  choose(place) {
    if (this.timeOf(this.frame) === null || this.frames.length < 2) { this.setCursor(this.profileAxis, place); return; }
    const away = this.frames.map((frame) => Math.abs(this.timeOf(frame) - place));
    this.setFrame(away.indexOf(Math.min(...away)));
  }

  // --- hands

  listen() {
    byId("time").addEventListener("input", () => this.setFrame(Number(byId("time").value)));
    byId("play").addEventListener("click", () => this.play());
    byId("theme").addEventListener("click", () => this.changeTheme());
    byId("screenshot").addEventListener("click", () => this.save());
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("range-run").addEventListener("click", () => { this.setRange("run"); this.redraw(); });
    byId("range-frame").addEventListener("click", () => { this.setRange("frame"); this.redraw(); });
    for (const id of ["range-low", "range-high"]) {
      byId(id).addEventListener("change", () => {
        const range = [Number(byId("range-low").value), Number(byId("range-high").value)];
        if (range[0] < range[1]) this.setRange(range);
        this.redraw();
      });
    }
    for (const id of ["shown", "threshold", "opacity", "cut-axis", "cut"]) byId(id).addEventListener("input", () => this.redraw());
    window.addEventListener("resize", () => this.redraw());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.target.matches("input[type=number], select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = { " ": () => this.play(), ",": () => this.setFrame(this.number - 1), ".": () => this.setFrame(this.number + 1),
      s: () => this.save(), t: () => this.changeTheme(), "?": () => byId("help").showModal() };
    const action = actions[event.key.toLowerCase()];
    if (action) { event.preventDefault(); action(); }
  }

  play() {
    const playing = this.timer !== undefined;
    if (this.frames.length < 2) return;
    byId("play").textContent = playing ? "\u25b6" : "\u275a\u275a";
    clearInterval(this.timer);
    this.timer = playing ? undefined : setInterval(() => this.setFrame((this.number + 1) % this.frames.length), PLAY_MS);
  }

  changeTheme() {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    this.redraw();
  }

  // All that is shown, as one picture.
  picture() {
    this.draw();
    const ratio = window.devicePixelRatio || 1, picture = document.createElement("canvas");
    const { scrollWidth: width, scrollHeight: height } = document.documentElement; // a narrow page is longer than seen
    const placed = (element) => {
      const box = element.getBoundingClientRect();
      return { left: box.left + scrollX, top: box.top + scrollY, width: box.width, height: box.height };
    };
    picture.width = Math.round(width * ratio);
    picture.height = Math.round(height * ratio);
    const context = picture.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = themeColour("paper");
    context.fillRect(0, 0, width, height);
    for (const canvas of document.querySelectorAll("canvas")) {
      const box = placed(canvas);
      if (box.width) context.drawImage(canvas, box.left, box.top, box.width, box.height);
    }
    context.fillStyle = themeColour("ink");
    context.textBaseline = "top";
    for (const element of document.querySelectorAll("h1, figcaption, #value, #place, #clock")) {
      const box = placed(element);
      context.font = getComputedStyle(element).font;
      if (box.width) element.textContent.split("\n").forEach((line, n) => context.fillText(line, box.left, box.top + 17 * n));
    }
    return picture;
  }

  save() {
    const link = document.createElement("a");
    link.download = `${this.about.title.replace(/[^\w.-]+/g, "_") || "run"}.png`;
    link.href = this.picture().toDataURL("image/png");
    link.click();
  }
}

const viewer = new Viewer(JSON.parse(byId("about").textContent));
window.heatsim = viewer;
viewer.start().catch((error) => {
  byId("loading").hidden = false;
  byId("loading").textContent = `This page cannot be shown: ${error.message}`;
  console.error(error);
});
