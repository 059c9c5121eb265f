// The volume: rays through a texture in three dimensions, by WebGL2.
"use strict";

const MAP = 1024; // places of the tables from lengths to texture coordinates
const STEPS = { least: 24, most: 1024 };
const TARGET_MS = 32; // of a frame while something moves
const STILL_MS = 400; // of the frame that stays
const SHOWN = { hot: 0, cold: 1, surface: 2, body: 3 };

const QUAD_VERTEX = `#version 300 es
in vec2 corner;
out vec2 place;
void main() { place = corner; gl_Position = vec4(corner, 0.0, 1.0); }`;

const RAY_FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler3D;
uniform sampler3D field, solid;
uniform sampler2D colours, maps, edges;
uniform vec3 size, low, high, right, up, forward;
uniform vec2 reach, toScale;
uniform float stepLength, threshold, opacity;
uniform int shown;
in vec2 place;
out vec4 colour;

vec3 textureAt(vec3 p) {
  vec3 found, at = clamp(p / size + 0.5, 0.0, 1.0) * float(${MAP - 1});
  for (int axis = 0; axis < 3; axis++) {
    int i = min(int(at[axis]), ${MAP - 2});
    float lower = texelFetch(maps, ivec2(i, axis), 0).r, upper = texelFetch(maps, ivec2(i + 1, axis), 0).r;
    found[axis] = mix(lower, upper, at[axis] - float(i));
  }
  return found;
}
// The place on the colour scale, 0 to 1; of what is not solved less than any.
float valueAt(vec3 p) {
  vec3 at = textureAt(p);
  if (texture(solid, at).r < 0.5) return -1e3;
  return texture(field, at).r * toScale.x + toScale.y;
}
vec3 colourOf(float value) { return texture(colours, vec2(clamp(value, 0.0, 1.0), 0.5)).rgb; }
vec3 lit(vec3 p, vec3 shade) {
  float e = 1.5 * stepLength;
  vec3 slope = vec3(valueAt(p + vec3(e, 0, 0)) - valueAt(p - vec3(e, 0, 0)),
                    valueAt(p + vec3(0, e, 0)) - valueAt(p - vec3(0, e, 0)),
                    valueAt(p + vec3(0, 0, e)) - valueAt(p - vec3(0, 0, e)));
  float facing = abs(dot(slope, forward)) / max(length(slope), 1e-9);
  return shade * (0.45 + 0.55 * facing);
}
// Where between two places the threshold is crossed.
vec3 crossing(vec3 before, vec3 after) {
  for (int i = 0; i < 6; i++) {
    vec3 middle = 0.5 * (before + after);
    if (valueAt(middle) < threshold) before = middle; else after = middle;
  }
  return after;
}
int cellAt(int axis, float place) {
  int least = 0, most = textureSize(field, 0)[axis] - 1;
  while (least < most) {
    int middle = (least + most + 1) / 2;
    if (place >= texelFetch(edges, ivec2(middle, axis), 0).r) least = middle; else most = middle - 1;
  }
  return least;
}
// The first cell of the body on a ray, from face to face (Amanatides and Woo 1987), greyed by the side that is seen.
vec4 bodyColour(vec3 start, vec3 safe, float begin, float end, int side) {
  const vec3 clear = vec3(0.76, 0.88, 1.0);
  vec3 p = start + forward * (begin + 1e-5);
  ivec3 count = textureSize(field, 0), last = textureSize(solid, 0) - 1;
  ivec3 cell = ivec3(cellAt(0, p.x), cellAt(1, p.y), cellAt(2, p.z));
  for (int i = 0; i < count.x + count.y + count.z; i++) {
    if (texelFetch(solid, min(cell, last), 0).r > 0.5)
      return vec4(mix(vec3(0.5), colourOf(texelFetch(field, cell, 0).r * toScale.x + toScale.y), clear[side]), 1.0);
    float next = 1e9;
    for (int axis = 0; axis < 3; axis++) {
      float face = texelFetch(edges, ivec2(cell[axis] + (safe[axis] > 0.0 ? 1 : 0), axis), 0).r;
      float reached = (face - start[axis]) / safe[axis];
      if (reached < next) { next = reached; side = axis; }
    }
    cell[side] += safe[side] > 0.0 ? 1 : -1;
    if (next >= end - 1e-5 || cell[side] < 0 || cell[side] >= count[side]) break;
  }
  return vec4(0.0);
}
void main() {
  vec3 start = right * place.x * reach.x + up * place.y * reach.y - 2.0 * forward;
  vec3 safe = mix(forward, vec3(1e-9), lessThan(abs(forward), vec3(1e-9)));
  vec3 one = (low - start) / safe, other = (high - start) / safe;
  vec3 near = min(one, other), far = max(one, other);
  float begin = max(max(near.x, near.y), near.z), end = min(min(far.x, far.y), far.z);
  colour = vec4(0.0);
  if (begin >= end) return;
  if (shown == 3) {
    colour = bodyColour(start, safe, begin, end, begin == near.x ? 0 : begin == near.y ? 1 : 2);
    return;
  }
  vec3 before = start + forward * begin;
  bool inside = false;
  for (int i = 0; i < ${2 * STEPS.most}; i++) {
    float t = begin + (float(i) + 0.5) * stepLength;
    if (t > end || colour.a > 0.98) break;
    vec3 p = start + forward * t;
    float value = valueAt(p);
    if (shown == 2) {
      bool now = value >= threshold;
      if (now != inside && value > -1e2) {
        vec3 at = i == 0 ? p : (now ? crossing(before, p) : crossing(p, before));
        float a = mix(0.25, 1.0, opacity);
        colour += (1.0 - colour.a) * vec4(lit(at, colourOf(i == 0 ? value : threshold)), 1.0) * a;
      }
      inside = now;
    } else if (value > -1e2) {
      float strength = shown == 0 ? value : 1.0 - value;
      float share = clamp((strength - threshold) / max(1.0 - threshold, 1e-3), 0.0, 1.0);
      float a = 1.0 - exp(-60.0 * opacity * opacity * share * sqrt(share) * stepLength);
      colour += (1.0 - colour.a) * vec4(colourOf(value), 1.0) * a;
    }
    before = p;
  }
}`;

const EDGE_VERTEX = `#version 300 es
uniform vec3 size, right, up;
uniform vec2 reach;
in vec3 corner;
void main() { vec3 p = corner * size; gl_Position = vec4(dot(p, right) / reach.x, dot(p, up) / reach.y, 0.0, 1.0); }`;
const EDGE_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 ink;
out vec4 colour;
void main() { colour = vec4(ink * 0.6, 0.6); }`;

// Half floats of n / levels.
function halfFloats(levels) {
  const single = new Float32Array(1), bits = new Uint32Array(single.buffer), found = new Uint16Array(levels + 1);
  for (let n = 1; n <= levels; n++) {
    single[0] = n / levels;
    const exponent = ((bits[0] >> 23) & 0xff) - 112, rounded = (bits[0] & 0x7fffff) + 0x1000;
    found[n] = exponent > 0 ? (exponent << 10) + (rounded >> 13) : (rounded | 0x800000) >> (14 - exponent);
  }
  return found;
}

class Volume {
  // Raises Error where WebGL2 or a texture of this size cannot be had.
  constructor(viewer, figure) {
    this.viewer = viewer;
    this.canvas = figure.querySelector("canvas");
    const gl = this.gl = this.canvas.getContext("webgl2", { alpha: true, premultipliedAlpha: true, antialias: false });
    if (!gl) throw new Error("this browser has no WebGL2");
    const most = gl.getParameter(gl.MAX_3D_TEXTURE_SIZE);
    if (Math.max(...viewer.about.shape) > most) throw new Error(`more than ${most} cells along an axis`);
    this.halves = halfFloats(viewer.about.levels);
    this.yaw = -0.6;
    this.pitch = 0.45;
    this.zoom = 1;
    this.steps = 160;
    const spans = [0, 1, 2].map((axis) => viewer.span(axis)), longest = Math.max(...spans);
    this.size = spans.map((span) => span / longest);
    this.rays = this.program(QUAD_VERTEX, RAY_FRAGMENT);
    this.edges = this.program(EDGE_VERTEX, EDGE_FRAGMENT);
    this.quad = this.buffer(new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    this.lines = this.buffer(new Float32Array(this.boxEdges()));
    this.makeTextures();
    this.listen();
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.bindAttribLocation(made, 0, "corner");
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) || "no shader");
    return made;
  }

  buffer(values) {
    const gl = this.gl, made = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    return made;
  }

  boxEdges() {
    const found = [];
    for (let axis = 0; axis < 3; axis++) {
      for (const a of [-0.5, 0.5]) {
        for (const b of [-0.5, 0.5]) {
          for (const end of [-0.5, 0.5]) {
            const corner = [a, a, a];
            corner[axis] = end;
            corner[(axis + 1) % 3] = a;
            corner[(axis + 2) % 3] = b;
            found.push(...corner);
          }
        }
      }
    }
    return found;
  }

  makeTextures() {
    const gl = this.gl, { about, scale, faces, materials } = this.viewer, [nz, ny, nx] = about.shape;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.field = this.texture(0, gl.TEXTURE_3D, gl.LINEAR);
    gl.texStorage3D(gl.TEXTURE_3D, 1, gl.R16F, nx, ny, nz);
    this.texture(1, gl.TEXTURE_3D, gl.NEAREST);
    const { ids, ambient } = materials, solid = new Uint8Array(ids ? ids.length : 1).fill(255);
    if (ids) ids.forEach((id, i) => { solid[i] = ambient[id] ? 0 : 255; });
    const sizes = ids ? [nx, ny, nz] : [1, 1, 1];
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.R8, ...sizes, 0, gl.RED, gl.UNSIGNED_BYTE, solid);
    this.texture(2, gl.TEXTURE_2D, gl.LINEAR);
    const colours = new Uint8Array(scale.words.buffer);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, scale.words.length, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
    this.texture(3, gl.TEXTURE_2D, gl.NEAREST);
    const maps = new Float32Array(3 * MAP);
    faces.forEach((places, axis) => maps.set(this.map(places), axis * MAP));
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, MAP, 3, 0, gl.RED, gl.FLOAT, maps);
    this.texture(4, gl.TEXTURE_2D, gl.NEAREST);
    const widest = Math.max(nx, ny, nz) + 1, edges = new Float32Array(3 * widest);
    faces.forEach((places, axis) => places.forEach((place, i) => {
      edges[axis * widest + i] = this.size[axis] * ((place - places[0]) / (places[places.length - 1] - places[0]) - 0.5);
    }));
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, widest, 3, 0, gl.RED, gl.FLOAT, edges);
  }

  texture(unit, target, filter) {
    const gl = this.gl, made = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(target, made);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(target, name, filter);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R]) {
      if (name !== gl.TEXTURE_WRAP_R || target === gl.TEXTURE_3D) gl.texParameteri(target, name, gl.CLAMP_TO_EDGE);
    }
    return made;
  }

  // Texture coordinates at equal steps of length along an axis.
  map(faces) {
    const n = faces.length - 1, found = new Float32Array(MAP);
    for (let i = 0, cell = 0; i < MAP; i++) {
      const place = faces[0] + (i / (MAP - 1)) * (faces[n] - faces[0]);
      while (cell < n - 1 && place > faces[cell + 1]) cell++;
      found[i] = (cell + (place - faces[cell]) / (faces[cell + 1] - faces[cell])) / n;
    }
    return found;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) this.turn(-event.movementX * 0.008, event.movementY * 0.008);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom = Math.min(8, Math.max(0.3, this.zoom * Math.exp(-event.deltaY * 0.001)));
      this.viewer.redraw();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
      if (turns[event.key]) { event.preventDefault(); this.turn(...turns[event.key]); }
    });
  }

  turn(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.min(1.57, Math.max(-1.57, this.pitch + pitch));
    this.viewer.redraw();
  }

  upload(frame) {
    if (this.uploaded === frame) return;
    const gl = this.gl, [nz, ny, nx] = this.viewer.about.shape, halves = new Uint16Array(frame.numbers.length);
    for (let i = 0; i < halves.length; i++) halves[i] = this.halves[frame.numbers[i]];
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.field);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, 0, 0, 0, nx, ny, nz, gl.RED, gl.HALF_FLOAT, halves);
    this.uploaded = frame;
  }

  // Draws in so much time, as far as that is possible; then once more in full, if nothing moves.
  draw() {
    const begun = performance.now();
    this.render(this.steps);
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the GPU
    const took = Math.max(0.5, performance.now() - begun);
    const fitting = this.steps * Math.min(1.5, Math.max(0.5, TARGET_MS / took));
    const still = Math.min(2 * Math.max(...this.viewer.about.shape), (this.steps * STILL_MS) / took);
    this.steps = Math.min(STEPS.most, Math.max(STEPS.least, fitting));
    clearTimeout(this.later);
    if (still > 1.2 * this.steps) this.later = setTimeout(() => this.render(Math.min(STEPS.most, still)), 200);
  }

  render(steps) {
    const { gl, viewer, canvas } = this, ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
    this.upload(viewer.frame);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const half = 0.62 * Math.hypot(...this.size) / this.zoom, wide = canvas.width / canvas.height;
    const view = this.axes();
    view.reach = wide > 1 ? [half * wide, half] : [half, half / wide];
    this.renderEdges(view);
    this.renderRays(view, steps);
  }

  axes() {
    const [s, c, sp, cp] = [Math.sin(this.yaw), Math.cos(this.yaw), Math.sin(this.pitch), Math.cos(this.pitch)];
    return { right: [c, s, 0], forward: [-s * cp, c * cp, -sp], up: [-s * sp, c * sp, cp] };
  }

  renderEdges({ right, up, reach }) {
    const gl = this.gl, dark = document.documentElement.dataset.theme === "dark";
    gl.useProgram(this.edges);
    this.set(this.edges, { size: this.size, right, up, reach, ink: dark ? [0.7, 0.7, 0.75] : [0.3, 0.3, 0.3] });
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lines);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.LINES, 0, 24);
  }

  renderRays({ right, up, forward, reach }, steps) {
    const { gl, viewer } = this, { frame, scale } = viewer, controls = viewer.volumeControls();
    const low = this.size.map((size) => -0.5 * size), high = this.size.map((size) => 0.5 * size);
    if (controls.cutAxis !== null) high[controls.cutAxis] = low[controls.cutAxis] + controls.cut * this.size[controls.cutAxis];
    const span = scale.high - scale.low;
    gl.useProgram(this.rays);
    for (const [unit, name] of ["field", "solid", "colours", "maps", "edges"].entries()) {
      gl.uniform1i(gl.getUniformLocation(this.rays, name), unit);
    }
    gl.uniform1i(gl.getUniformLocation(this.rays, "shown"), SHOWN[controls.shown]);
    this.set(this.rays, {
      size: this.size, low, high, right, up, forward, reach,
      toScale: [(frame.high - frame.low) / span, (frame.low - scale.low) / span],
      stepLength: [1 / steps], threshold: [controls.threshold], opacity: [controls.opacity],
    });
    gl.bindBuffer(gl.ARRAY_BUFFER, this.quad);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  set(program, values) {
    const gl = this.gl;
    for (const [name, value] of Object.entries(values)) gl[`uniform${value.length}fv`](gl.getUniformLocation(program, name), value);
  }
}
