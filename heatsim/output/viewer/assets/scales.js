// Scales: handy numbers for ticks, and colours of values.
"use strict";

const CLOCK = { h: [1, 2, 3, 6, 12, 24, 48, 120, 240], min: [1, 2, 5, 10, 15, 30, 60, 120] };

// About `count` round numbers between two ends, two at least; of hours and minutes those of a clock.
function ticks(low, high, count, unit) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, count), power = Math.pow(10, Math.floor(Math.log10(rough)));
  const round = [1, 2, 5, 10].map((each) => each * power), clock = rough >= 0.5 ? CLOCK[unit] || [] : [];
  const step = [...clock, ...round].find((each) => each >= rough * (1 - 1e-9));
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * span; n++) found.push(n * step);
  return found.length > 1 ? found : ticks(low, high, 2 * Math.max(1, count), unit);
}

// Digits after the point that tell the ticks of a scale apart.
function digitsOf(values) {
  if (values.length < 2) return values[0] === 0 ? 0 : 3;
  return Math.min(9, Math.max(0, -Math.floor(Math.log10(Math.abs(values[1] - values[0])) + 1e-9)));
}

function tidy(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

class ColourScale {
  constructor(colours) {
    this.words = new Uint32Array(colours.map((each) => {
      const number = parseInt(each.slice(1), 16);
      return 0xff000000 | ((number & 0xff) << 16) | (number & 0xff00) | (number >> 16);
    }));
    this.colours = colours;
    this.low = 0;
    this.high = 1;
    this.table = new Uint32Array(65536);
  }

  setRange(low, high) {
    this.low = low;
    this.high = high > low ? high : low + (Math.abs(low) * 1e-6 || 1);
    this.of = null;
  }

  // Colours, as words of a picture, of all whole numbers of a frame.
  tableFor(frame, levels) {
    if (this.of && this.of[0] === frame.low && this.of[1] === frame.high) return this.table;
    const last = this.words.length - 1, span = this.high - this.low;
    for (let n = 0; n <= levels; n++) {
      const value = frame.low + (frame.high - frame.low) * (n / levels);
      const place = Math.round(((value - this.low) / span) * last);
      this.table[n] = this.words[Math.min(last, Math.max(0, place))];
    }
    this.of = [frame.low, frame.high];
    return this.table;
  }
}

// Sizes a canvas to its place on the page, and returns its context, in which a unit is a pixel of the page.
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d", { willReadFrequently: true }); // pixels come from the processor
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  context.font = "11px system-ui, sans-serif";
  return { context, width: box.width, height: box.height, ratio };
}

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function drawColourBar(canvas, scale, label) {
  const { context, width, height } = prepared(canvas), top = 22, bottom = height - 8, left = 2, bar = 18;
  scale.colours.forEach((colour, n) => {
    const y = bottom - ((n + 1) / scale.colours.length) * (bottom - top);
    context.fillStyle = colour;
    context.fillRect(left, y, bar, (bottom - top) / scale.colours.length + 1);
  });
  context.fillStyle = context.strokeStyle = themeColour("ink");
  context.textBaseline = "middle";
  const values = ticks(scale.low, scale.high, Math.max(2, (bottom - top) / 30)), digits = digitsOf(values);
  for (const value of values) {
    const y = bottom - ((value - scale.low) / (scale.high - scale.low)) * (bottom - top);
    context.fillRect(left + bar, y - 0.5, 5, 1);
    context.fillText(tidy(value, digits), left + bar + 9, y);
  }
  context.textBaseline = "top";
  context.fillText(label, left, 2, width - left);
}
