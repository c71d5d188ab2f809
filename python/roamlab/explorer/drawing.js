// Scales, axes, lines and marks on a canvas. Where points lie closer than pixels, each column of pixels shows its range.

/** From time to pixels of the drawing area. */
class TimeScale {
  constructor(begin, end, left, width) {
    Object.assign(this, { begin, end, left, width });
  }

  pixel(time) {
    return this.left + ((time - this.begin) / (this.end - this.begin)) * this.width;
  }

  time(pixel) {
    return this.begin + ((pixel - this.left) / this.width) * (this.end - this.begin);
  }
}

/** From values to pixels, upwards. */
class ValueScale {
  constructor([least, most], height) {
    Object.assign(this, { least, most, height });
  }

  pixel(value) {
    return this.height - EDGE - ((value - this.least) / (this.most - this.least || 1)) * (this.height - 2 * EDGE);
  }

  value(pixel) {
    return this.least + ((this.height - EDGE - pixel) / (this.height - 2 * EDGE)) * (this.most - this.least);
  }
}

const EDGE = 6;
const DENSE = 1000;

/** Shapes around the origin. Open ones are stroked. */
const SHAPES = {
  square: { path: "M-2-2h4v4h-4z" },
  dot: { path: "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z" },
  diamond: { path: "M0-4.5L4.5 0L0 4.5L-4.5 0z" },
  triangle: { path: "M0-5L4.5 3.5h-9z" },
  cross: { path: "M-4.5-4.5L4.5 4.5M-4.5 4.5L4.5-4.5", open: true },
  bar: { path: "M0-4.5v9", open: true },
  ring: { path: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", open: true },
  dash: { path: "M-3 0h6", open: true },
  line: { path: "M-9 0h18", open: true },
};
for (const shape of Object.values(SHAPES)) shape.drawn = new Path2D(shape.path);

/** Steps of 1, 2 or 5 times a power of ten, of which about `count` fit between. */
function ticks(least, most, count) {
  const rough = (most - least) / Math.max(1, count);
  if (!(rough > 0)) return { at: [], digits: 0 };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const at = [];
  for (let number = Math.ceil(least / step - 1e-9); number * step <= most * (1 + 1e-12) + 1e-12; number++) at.push(number * step);
  return { at, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** A canvas without a drawing, as large as the page shows it and as fine as the screen. */
function clear(canvas, pen) {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.round(size * density));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
}

/** The area between two lines that keep each value until the next. */
function drawBand(pen, one, other, x, y, colour) {
  pen.fillStyle = colour;
  pen.globalAlpha = 0.3;
  for (let place = Math.floor(x.left); place < x.left + x.width; place++) {
    const values = [one, other].map((series) => series.at(x.time(place)));
    if (values.includes(undefined)) continue;
    const [top, bottom] = [y.pixel(Math.max(...values)), y.pixel(Math.min(...values))];
    pen.fillRect(place, top, 1, Math.max(1, bottom - top));
  }
  pen.globalAlpha = 1;
}

/** A line that keeps each value until the next. */
function drawSteps(pen, series, x, y, colour, dash = []) {
  const begin = Math.max(0, series.first(x.begin) - 1);
  const end = Math.min(series.length, series.first(x.end) + 1);
  if (end <= begin) return;
  pen.strokeStyle = colour;
  pen.setLineDash(dash);
  pen.lineWidth = 1.4;
  pen.beginPath();
  const start = Math.max(x.left, x.pixel(series.times[begin]));
  pen.moveTo(start, y.pixel(series.values[begin]));
  if (end - begin <= 2 * x.width) {
    for (let at = begin + 1; at < end; at++) {
      const place = x.pixel(series.times[at]);
      pen.lineTo(place, y.pixel(series.values[at - 1]));
      pen.lineTo(place, y.pixel(series.values[at]));
    }
  } else {
    eachColumn(series, x, begin, end, (place, from, to) => {
      const [least, most] = series.extent(from, to);
      pen.lineTo(place, y.pixel(series.values[Math.max(0, from - 1)]));
      pen.lineTo(place, y.pixel(least));
      pen.lineTo(place, y.pixel(most));
      pen.lineTo(place, y.pixel(series.values[to - 1]));
    });
  }
  if (end === series.length) pen.lineTo(x.left + x.width, y.pixel(series.values[end - 1]));
  pen.stroke();
  pen.setLineDash([]);
}

/** A mark for each point or, where there are too many, for each column of pixels the range of its points. */
function drawMarks(pen, series, x, y, colour, shape) {
  const begin = series.first(x.begin);
  const end = series.first(x.end);
  const { drawn, open } = SHAPES[shape];
  pen.fillStyle = pen.strokeStyle = colour;
  pen.lineWidth = open ? 1.8 : 1;
  if (end - begin > DENSE) {
    eachColumn(series, x, begin, end, (place, from, to) => {
      const [least, most] = series.extent(from, to);
      const top = y.pixel(most);
      pen.fillRect(place - 0.75, top - 0.75, 1.5, y.pixel(least) - top + 1.5);
    });
    return;
  }
  for (let at = begin; at < end; at++) {
    const [right, down] = [x.pixel(series.times[at]), y.pixel(series.values[at])];
    pen.translate(right, down);
    if (open) pen.stroke(drawn);
    else pen.fill(drawn);
    pen.translate(-right, -down);
  }
}

function eachColumn(series, x, begin, end, draw) {
  for (let place = 0, from = begin; place < x.width && from < end; place++) {
    const to = Math.min(end, series.first(x.time(x.left + place + 1)));
    if (to > from) draw(x.left + place + 0.5, from, to);
    from = to;
  }
}

function beginGrid(pen, theme) {
  pen.font = theme.font;
  pen.lineWidth = 1;
  pen.strokeStyle = theme.line;
  pen.fillStyle = theme.quiet;
  pen.beginPath();
}

/** Grid and numbers of the value axis. */
function drawValues(pen, x, y, theme) {
  const { at, digits } = ticks(y.least, y.most, y.height / 40);
  beginGrid(pen, theme);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const value of at) {
    const place = Math.round(y.pixel(value)) + 0.5;
    pen.moveTo(x.left, place);
    pen.lineTo(x.left + x.width, place);
    pen.fillText(value.toFixed(digits), x.left - 5, Math.min(y.height - 6, Math.max(6, place)));
  }
  pen.stroke();
}

/** Lines at the times that the axis names. */
function drawTimes(pen, x, height, theme, named) {
  const { at, digits } = ticks(x.begin / 1e9, x.end / 1e9, x.width / 90);
  beginGrid(pen, theme);
  pen.textBaseline = "top";
  for (const value of at) {
    const place = Math.round(x.pixel(value * 1e9)) + 0.5;
    pen.moveTo(place, 0);
    pen.lineTo(place, named ? 5 : height);
    if (!named || place < x.left - 1 || place > x.left + x.width + 1) continue;
    pen.textAlign = place > x.left + x.width - 20 ? "right" : place < x.left + 20 ? "left" : "center";
    pen.fillText(value.toFixed(digits), place, 7);
  }
  pen.stroke();
}
