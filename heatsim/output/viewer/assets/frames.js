// Frames: packed differences back to whole numbers. The other way is heatsim/output/viewer/encoding.py.
"use strict";

const ESCAPE = 15;
const ZERO = 32768; // stands for no difference from the frame before

async function gunzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// The differences of a frame, one after the other.
async function unpack(data, count) {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const bytes = await gunzip(data.subarray(4, 4 + length)), list = await gunzip(data.subarray(4 + length));
  const listed = new Uint16Array(list.length / 2);
  for (let i = 0; i < listed.length; i++) listed[i] = list[i] | (list[listed.length + i] << 8);
  const found = new Int32Array(count);
  let next = 0;
  for (let i = 0; i < count; i++) {
    let folded = i & 1 ? bytes[i >> 1] >> 4 : bytes[i >> 1] & 15;
    if (folded === ESCAPE) folded = listed[next++];
    found[i] = folded & 1 ? -((folded + 1) >> 1) : folded >> 1;
  }
  return found;
}

// What lies half way between places `at` and `at + 2 step` on a line of `n` known values.
function predicted(field, at, step, place, n) {
  if (place + 1 >= n) return field[at];
  const sum = field[at] + field[at + 2 * step];
  if (place < 1 || place + 2 >= n) return sum >> 1;
  const next = field[at - 2 * step] + field[at + 4 * step];
  if (place < 2 || place + 3 >= n) return (9 * sum - next + 8) >> 4;
  return (150 * sum - 25 * next + 3 * (field[at - 4 * step] + field[at + 6 * step]) + 128) >> 8;
}

// A field (nz, ny, nx) from its differences, modulo 2^16 if it is itself a difference from the frame before.
function restore(differences, shape) {
  const [nz, ny, nx] = shape;
  const steps = [ny * nx, nx, 1];
  const field = new Int32Array(nz * ny * nx);
  field[0] = differences[0] & 0xffff;
  let next = 1;
  let stride = 1;
  while (stride < Math.max(nz, ny, nx)) stride *= 2;
  const strides = [stride, stride, stride];
  while (stride > 1) {
    stride /= 2;
    for (let axis = 0; axis < 3; axis++) {
      strides[axis] = stride;
      const first = [0, 0, 0], by = strides.slice();
      first[axis] = stride;
      by[axis] = 2 * stride;
      const step = stride * steps[axis];
      const known = Math.ceil(Math.ceil(shape[axis] / stride) / 2);
      for (let z = first[0]; z < nz; z += by[0]) {
        for (let y = first[1]; y < ny; y += by[1]) {
          for (let x = first[2]; x < nx; x += by[2]) {
            const i = z * steps[0] + y * nx + x;
            const place = ((axis === 0 ? z : axis === 1 ? y : x) - stride) / (2 * stride);
            field[i] = (predicted(field, i - step, step, place, known) + differences[next++]) & 0xffff;
          }
        }
      }
    }
  }
  return field;
}

// The whole numbers of a frame, (cells,) Uint16Array; before: those of the frame before it.
async function decodeFrame(bytes, shape, before) {
  const count = shape[0] * shape[1] * shape[2];
  const restored = restore(await unpack(bytes, count), shape);
  const numbers = new Uint16Array(count);
  for (let i = 0; i < count; i++) numbers[i] = before ? restored[i] + before[i] - ZERO : restored[i];
  return numbers;
}
