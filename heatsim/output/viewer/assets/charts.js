// Charts: curves over time, or along a line, with a mark where the reader is.
"use strict";

const CURVE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8f7700", "#999999"];
const EDGE = { left: 58, right: 12, top: 8, bottom: 22 };

class Chart {
  constructor(canvas, choose) {
    this.canvas = canvas;
    const point = (event) => {
      if (!this.place) return;
      const box = canvas.getBoundingClientRect(), { left, width, low, high } = this.place;
      choose(low + ((event.clientX - box.left - left) / width) * (high - low));
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); point(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  }

  // curves: { name, x, y }; mark: a place on the axis; label: of the axis; unit: of a time.
  draw(curves, mark, label, unit) {
    const { context, width, height } = prepared(this.canvas);
    const names = this.layOutNames(context, curves, width), top = EDGE.top + names.height;
    const whole = { left: EDGE.left, top, width: width - EDGE.left - EDGE.right, height: height - top - EDGE.bottom };
    let [low, high, least, greatest] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y } of curves) {
      for (let i = 0; i < x.length; i++) {
        low = Math.min(low, x[i]); high = Math.max(high, x[i]);
        if (y[i] === null) continue; // what has no value
        least = Math.min(least, y[i]); greatest = Math.max(greatest, y[i]);
      }
    }
    if (!(high > low) || greatest < least) return;
    const spread = greatest - least || Math.abs(greatest) * 1e-3 || 1;
    least -= 0.05 * spread; greatest += 0.05 * spread;
    this.place = { ...whole, low, high };
    const across = (x) => whole.left + ((x - low) / (high - low)) * whole.width;
    const up = (y) => whole.top + whole.height - ((y - least) / (greatest - least)) * whole.height;
    this.drawAxes(context, whole, ticks(low, high, whole.width / 90, unit), ticks(least, greatest, Math.max(2, whole.height / 30)), across, up, label);
    curves.forEach(({ name, x, y }, n) => {
      context.strokeStyle = context.fillStyle = CURVE_COLOURS[n % CURVE_COLOURS.length];
      context.lineWidth = 1.5;
      context.beginPath();
      for (let i = 0, pen = false; i < x.length; i++) {
        if (y[i] !== null) context[pen ? "lineTo" : "moveTo"](across(x[i]), up(y[i]));
        pen = y[i] !== null;
      }
      context.stroke();
      context.textBaseline = "top";
      context.textAlign = "left";
      context.fillText(name, names.places[n].x, names.places[n].y);
    });
    if (mark === null) return;
    context.fillStyle = themeColour("ink");
    context.fillRect(across(Math.min(high, Math.max(low, mark))) - 0.5, whole.top, 1, whole.height);
  }

  // Where the names of curves stand: in lines above them, as many as fit into each.
  layOutNames(context, curves, width) {
    let [x, y] = [EDGE.left, 2];
    const places = curves.map(({ name }) => {
      const wide = context.measureText(name).width + 14;
      if (x > EDGE.left && x + wide > width) [x, y] = [EDGE.left, y + 13];
      x += wide;
      return { x: x - wide, y };
    });
    return { places, height: y + 8 };
  }

  drawAxes(context, whole, x, y, across, up, label) {
    context.fillStyle = themeColour("quiet");
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const value of x) {
      context.fillRect(across(value) - 0.5, whole.top + whole.height, 1, 4);
      context.fillText(tidy(value, digitsOf(x)), across(value), whole.top + whole.height + 6);
    }
    context.textAlign = "right";
    context.fillText(label, whole.left - 16, whole.top + whole.height + 6);
    context.textBaseline = "middle";
    for (const value of y) {
      context.globalAlpha = 0.25;
      context.fillRect(whole.left, up(value) - 0.5, whole.width, 1);
      context.globalAlpha = 1;
      context.fillText(tidy(value, digitsOf(y)), whole.left - 6, up(value));
    }
  }
}
