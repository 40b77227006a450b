// Draws the charts of a report with uPlot: each when it comes into view, in the colours of the theme.
(() => {
"use strict";
const {charts, looks} = JSON.parse(document.getElementById("data").textContent);
const drawn = new Set();
const ALONG = {x: true, y: false}, FREE = {x: true, y: true, uni: 40};
const LETTER = 6.4, TICK_FONT = "11px system-ui, sans-serif";

/* Theme */
const root = document.documentElement;
const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const ink = number => number % looks.colours.length === looks.colours.length - 1
  ? css("--ink") : looks.colours[number % looks.colours.length];
const THEMES = ["auto", "light", "dark"];
const theme = document.getElementById("theme");
function setTheme(name) {
  root.dataset.theme = name;
  theme.textContent = `Theme: ${name}`;
  try { localStorage.setItem("minitopo-dc-theme", name); } catch { /* a page may have no storage */ }
  redraw();
}
const redraw = () => drawn.forEach(plot => plot.redraw(false));
theme.onclick = () => setTheme(THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length]);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

/* Numbers: three significant digits */
function shown(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const rounded = Number(value.toPrecision(3));
  const places = rounded ? Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded)))) : 0;
  return rounded.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places});
}
const tick = value => Number(value.toPrecision(6)).toLocaleString("en", {maximumSignificantDigits: 6});

/* Scales */
function range(axis, pad) {
  return (plot, low, high) => {
    if (axis.limits) [low, high] = axis.limits;
    if (low === null || high === null || low === undefined) return [0, 1];
    if (axis.limits) return axis.limits;
    if (axis.log) {
      const room = Math.max((high / low) ** pad, 1.02);
      return [low / room, high * room];
    }
    const room = (high - low || Math.abs(high) || 1) * pad;
    return [axis.from_zero && low >= 0 ? 0 : low - room, high + room];
  };
}
function alongX(axis, ends) {
  const padded = range(axis, 0.03);
  return (plot, low, high) => {
    const whole = low <= ends[0] && high >= ends[1];
    if (!whole) return [low, high];
    return axis.named ? [-0.5, axis.ticks.length - 0.5] : padded(plot, ...ends);
  };
}
function alongY(panel) {
  // Error bars belong to the axis, too.
  const bars = panel.series.flatMap(series => [...(series.low || []), ...(series.high || [])])
    .filter(y => y !== null && (!panel.y.log || y > 0));
  const padded = range(panel.y, 0.05);
  if (!bars.length) return padded;
  const low = Math.min(...bars), high = Math.max(...bars);
  return (plot, a, b) => padded(plot, Math.min(a, low), Math.max(b, high));
}
function logSplits(plot, index, low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const digit of [1, 2, 5]) {
      const value = digit * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  if (found.length > 1) return found;
  const step = (high - low) / 4, unit = 10 ** Math.floor(Math.log10(step));
  for (let value = Math.ceil(low / unit) * unit; value <= high; value += Math.ceil(step / unit) * unit)
    found.push(value);
  return found;
}
function tickSplits(axis) {
  return (plot, index, low, high) => axis.ticks.map(each => each[0]).filter(x => x >= low && x <= high);
}
function tickNames(axis, upright) {
  const names = new Map(axis.ticks);
  return (plot, places) => {
    if (!upright) return places.map(place => names.get(place));
    let end = -Infinity;
    return places.map(place => {
      const name = names.get(place), middle = plot.valToPos(place, "x");
      const half = axis.slanted ? 7 : name.length * LETTER / 2 + 3;
      if (middle - half < end) return "";
      end = middle + half;
      return name;
    });
  };
}
function axisOf(axis, side, upright) {
  const found = {
    side, font: TICK_FONT, gap: 4, stroke: () => css("--ink-2"),
    grid: {stroke: () => css("--grid"), width: 1}, ticks: {stroke: () => css("--grid"), size: 5},
    values: (plot, places) => places.map(tick),
    size: (plot, values) => side === 2
      ? (axis.slanted ? 18 + LETTER * 0.7 * Math.max(...axis.ticks.map(each => each[1].length)) : 28)
      : 14 + LETTER * Math.max(1, ...(values || [""]).map(value => (value ?? "").length)),
  };
  if (axis.ticks.length) {
    found.splits = tickSplits(axis);
    found.values = tickNames(axis, upright);
    if (axis.slanted) found.rotate = -45;
  } else if (axis.log) {
    found.splits = logSplits;
    found.filter = (plot, places) => {
      const scale = side === 2 ? "x" : "y", room = side === 2 ? 34 : 18;
      let last = Infinity;
      return places.slice().reverse().map(place => {
        const at = plot.valToPos(place, found.scale || scale);
        const there = Math.abs(at - last) >= room;
        if (there) last = at;
        return there ? place : null;
      }).reverse();
    };
    found.values = (plot, places) => places.map(place => place === null ? "" : tick(place));
  }
  if (side === 2 && !axis.ticks.length && !axis.log) found.space = 56;
  return found;
}

/* What uPlot does not draw: markers, error bars, levels, moments */
const SHAPES = {
  circle: (pen, x, y, r) => pen.arc(x, y, r, 0, 2 * Math.PI),
  square: (pen, x, y, r) => pen.rect(x - r * 0.9, y - r * 0.9, 1.8 * r, 1.8 * r),
  triangle: (pen, x, y, r) => { pen.moveTo(x, y - 1.2 * r); pen.lineTo(x + 1.1 * r, y + 0.9 * r);
    pen.lineTo(x - 1.1 * r, y + 0.9 * r); pen.closePath(); },
  down: (pen, x, y, r) => { pen.moveTo(x, y + 1.2 * r); pen.lineTo(x + 1.1 * r, y - 0.9 * r);
    pen.lineTo(x - 1.1 * r, y - 0.9 * r); pen.closePath(); },
  diamond: (pen, x, y, r) => { pen.moveTo(x, y - 1.3 * r); pen.lineTo(x + 1.2 * r, y);
    pen.lineTo(x, y + 1.3 * r); pen.lineTo(x - 1.2 * r, y); pen.closePath(); },
  cross: (pen, x, y, r) => { pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r);
    pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r); },
};
function marker(pen, shape, x, y, r, colour, hollow) {
  pen.beginPath();
  SHAPES[shape](pen, x, y, r);
  pen.strokeStyle = colour;
  pen.fillStyle = hollow ? css("--page") : colour;
  if (shape !== "cross") pen.fill();
  pen.stroke();
}
function mixed(scale, value) {
  const share = Math.min(1, Math.max(0, (value - scale.low) / (scale.high - scale.low || 1)));
  const place = share * (scale.colours.length - 1), first = Math.min(Math.floor(place), scale.colours.length - 2);
  const parts = [0, 1].map(step => scale.colours[first + step].match(/\w\w/g).map(hex => parseInt(hex, 16)));
  return `rgb(${parts[0].map((low, i) => Math.round(low + (parts[1][i] - low) * (place - first))).join()})`;
}
function overlay(panel) {
  return plot => {
    const pen = plot.ctx, ratio = uPlot.pxRatio, {left, top, width, height} = plot.bbox;
    const place = (x, y) => {
      const along = plot.valToPos(x, "x", true), up = plot.valToPos(y, "y", true);
      return panel.sideways ? [up, along] : [along, up];
    };
    const segment = (from, to) => { pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke(); };
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.strokeStyle = css("--ink-2");
    pen.lineWidth = ratio;
    pen.setLineDash([4 * ratio, 3 * ratio]);
    const ends = scale => [plot.scales[scale].min, plot.scales[scale].max];
    if (panel.level_x !== null) segment(...ends("y").map(y => place(panel.level_x, y)));
    if (panel.level_y !== null) segment(...ends("x").map(x => place(x, panel.level_y)));
    pen.setLineDash([2 * ratio, 3 * ratio]);
    pen.font = `${10 * ratio}px system-ui, sans-serif`;
    pen.textAlign = "right";
    let before = -Infinity;
    for (const [x, label, colour] of panel.marks) {
      const [at] = place(x, 0);
      pen.strokeStyle = pen.fillStyle = ink(colour);
      segment([at, top], [at, top + height]);
      if (at < left || at > left + width || at - before < 13 * ratio) continue;
      before = at;
      pen.save();
      pen.translate(at - 3 * ratio, top + 4 * ratio);
      pen.rotate(-Math.PI / 2);
      pen.fillText(label, 0, 0);
      pen.restore();
    }
    pen.setLineDash([]);
    panel.series.forEach((series, number) => {
      if (!plot.series[number + 1].show) return;
      const colour = ink(series.colour), x = panel.xs[series.x];
      pen.lineWidth = 1.2 * ratio;
      for (let i = 0; i < x.length; i++) {
        if (series.y[i] === null) continue;
        const middle = place(x[i], series.y[i]);
        pen.strokeStyle = colour;
        if (series.low && series.low[i] !== null && series.high[i] !== null) {
          const bar = [place(x[i], series.low[i]), place(x[i], series.high[i])];
          segment(...bar);
          for (const [across, up] of bar)
            segment(...[-3, 3].map(by => panel.sideways ? [across, up + by * ratio] : [across + by * ratio, up]));
        }
        if (series.left && series.left[i] !== null && series.right[i] !== null) {
          const bar = [place(series.left[i], series.y[i]), place(series.right[i], series.y[i])];
          segment(...bar);
          for (const [across, up] of bar) segment(...[-3, 3].map(by => [across, up + by * ratio]));
        }
        if (series.first && series.first[i] !== null) {
          pen.save();
          pen.globalAlpha = 0.35;
          pen.lineWidth = 9 * ratio;
          segment(place(x[i], series.first[i]), place(x[i], series.third[i]));
          pen.restore();
        }
        if (series.values) {
          const value = series.values[i];
          if (value === null) continue;
          const level = panel.scale.level;
          const shape = level === null ? "circle" : value >= level ? "triangle" : "down";
          pen.lineWidth = 0.6 * ratio;
          marker(pen, shape, ...middle, 4.2 * ratio, mixed(panel.scale, value), false);
        } else if (series.marker !== null) {
          const small = x.length > 200 ? 1.3 : series.hollow ? 3 : 3.4;
          marker(pen, looks.markers[series.marker % looks.markers.length], ...middle, small * ratio, colour, series.hollow);
        }
      }
    });
    pen.restore();
  };
}

/* The nearest point of a series to the cursor, of points in both directions */
function nearest(panel, joined, hovered) {
  const places = new Map(joined[0].map((x, i) => [x, i]));
  return (plot, number, index, value) => {
    if (number === 0 || index === null || index === undefined) return index;
    const series = panel.series[number - 1];
    if (series.line === "none" && plot.cursor.event) {
      const {left, top} = plot.cursor, x = panel.xs[series.x];
      let best = null, least = Infinity;
      for (let i = 0; i < x.length; i++) {
        if (series.y[i] === null) continue;
        const along = plot.valToPos(x[i], "x"), up = plot.valToPos(series.y[i], "y");
        const [a, b] = panel.sideways ? [along - top, up - left] : [along - left, up - top];
        if (a * a + b * b < least) [best, least] = [i, a * a + b * b];
      }
      hovered[number - 1] = best;
      return best === null ? null : places.get(x[best]);
    }
    const values = joined[number];
    for (let away = 0; away < values.length; away++)
      for (const i of [index - away, index + away])
        if (values[i] !== null && values[i] !== undefined) return i;
    return index;
  };
}

/* One panel */
function markerImage(series) {
  const dash = looks.dashes[series.dash % looks.dashes.length].map(part => part * 1.3).join(" ");
  const line = series.line === "none" ? "" :
    `<line x1="0" y1="6" x2="26" y2="6" stroke="currentColor" stroke-width="2" stroke-dasharray="${dash}"/>`;
  const paths = {
    circle: '<circle cx="13" cy="6" r="3.4"', square: '<rect x="9.8" y="2.8" width="6.4" height="6.4"',
    triangle: '<path d="M13 1.8 17 9.2 9 9.2Z"', diamond: '<path d="M13 1.5 17.2 6 13 10.5 8.8 6Z"',
    cross: '<path d="M9.8 2.8 16.2 9.2M9.8 9.2 16.2 2.8"',
  };
  const fill = series.hollow ? "var(--page)" : "currentColor";
  const shape = series.marker === null ? "" : `${paths[looks.markers[series.marker % looks.markers.length]]} ` +
    `fill="${fill}" stroke="currentColor" stroke-width="1.3"/>`;
  return `<svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">${line}${shape}</svg>`;
}
function element(tag, name, text) {
  const found = document.createElement(tag);
  found.className = name;
  if (text) found.textContent = text;
  return found;
}
function plotPanel(chart, panel, host) {
  const hovered = {};
  const tables = panel.series.map(series => {
    const x = panel.xs[series.x], order = [...x.keys()].sort((a, b) => x[a] - x[b]);
    return [order.map(i => x[i]), order.map(i => series.y[i])];
  });
  const joined = uPlot.join(tables);
  const xs = joined[0], ends = [xs[0], xs[xs.length - 1]];
  const data = panel.series.map((series, number) => {
    const mark = {
      label: series.label, width: 1.6, spanGaps: false, scale: "y", auto: true,
      stroke: () => ink(series.colour), dash: looks.dashes[series.dash % looks.dashes.length],
      points: {show: false},
      value: (plot, raw, si, index) => {
        if (index === null || index === undefined) return "–";
        const own = series.line === "none" && hovered[number] !== undefined && hovered[number] !== null;
        const text = shown(own ? series.y[hovered[number]] : raw);
        if (!series.values || !own) return text;
        return `${panel.x.label} ${shown(panel.xs[series.x][hovered[number]])}; ${panel.y.label} ${text}; ` +
          `${panel.scale.label} ${shown(series.values[hovered[number]])}`;
      },
    };
    if (series.line === "none") mark.paths = () => null;
    if (series.line === "steps") mark.paths = uPlot.paths.stepped({align: 1});
    return mark;
  });
  panel.x.named = panel.x.ticks.length > 0 && panel.x.ticks.every((each, i) => each[0] === i);
  const size = () => ({width: Math.max(200, host.clientWidth), height: heightOf(panel, chart)});
  const {width} = size();
  const letters = panel.x.ticks.reduce((sum, each) => sum + each[1].length + 1.5, 0) * LETTER;
  panel.x.slanted = !panel.sideways && panel.x.named && letters > width - 70;
  const across = panel.sideways ? {ori: 1, dir: -1} : {ori: 0}, up = panel.sideways ? {ori: 0} : {ori: 1};
  const xAxis = axisOf(panel.x, panel.sideways ? 3 : 2, !panel.sideways);
  const yAxis = {...axisOf(panel.y, panel.sideways ? 2 : 3, false), scale: "y"};
  const xName = panel.x.ticks.length ? value => new Map(panel.x.ticks).get(value) ?? shown(value) : shown;
  const plot = new uPlot({
    ...size(), padding: [8, 14, 0, 4],
    scales: {
      x: {time: false, distr: panel.x.log ? 3 : 1, range: alongX(panel.x, ends), ...across},
      y: {distr: panel.y.log ? 3 : 1, auto: true, range: alongY(panel), ...up},
    },
    axes: [xAxis, yAxis],
    series: [{label: panel.x.label || "of", value: (p, x) => x === null || x === undefined ? "–" : xName(x)}, ...data],
    cursor: {
      dataIdx: nearest(panel, joined, hovered), focus: {prox: 1e6},
      drag: panel.scale ? FREE : ALONG,
      ...(chart.together ? {sync: {key: chart.name, scales: ["x", null]}} : {}),
    },
    legend: {live: true},
    hooks: {draw: [overlay(panel)]},
  }, joined, host);
  panel.series.forEach((series, number) => {
    const mark = plot.root.querySelectorAll(".u-series")[number + 1].querySelector(".u-marker");
    mark.outerHTML = `<span class="mark" style="color:${series.colour % looks.colours.length === looks.colours.length - 1
      ? "var(--ink)" : looks.colours[series.colour % looks.colours.length]}">${markerImage(series)}</span>`;
  });
  new ResizeObserver(() => { if (host.clientWidth && host.clientWidth !== plot.width) plot.setSize(size()); }).observe(host);
  drawn.add(plot);
  host.plot = plot;
}
function heightOf(panel, chart) {
  if (panel.sideways) return 50 + 26 * Math.max(2, panel.x.ticks.length);
  return (chart.together && chart.panels.length > 2 ? 150 : 250) + (panel.x.slanted ? 40 : 0);
}
function colourBar(scale) {
  const bar = element("div", "scale");
  const strip = element("div", "strip");
  strip.style.background = `linear-gradient(to right, ${scale.colours.join()})`;
  const ends = element("div", "ends");
  const middle = scale.level ?? (scale.low + scale.high) / 2;
  for (const value of [scale.low, middle, scale.high]) ends.append(element("span", "", shown(value)));
  bar.append(element("div", "axis", scale.label), strip, ends);
  return bar;
}
function draw(figure) {
  const chart = charts[figure.dataset.chart];
  const grid = element("div", chart.together ? "panels together" : "panels");
  if (chart.panels.length === 1) grid.classList.add("one");
  figure.prepend(grid);
  for (const panel of chart.panels) {
    const box = element("div", "panel"), host = element("div", "plot");
    if (panel.title) box.append(element("div", "title", panel.title));
    box.append(element("div", "axis", panel.sideways ? "" : panel.y.label), host);
    grid.append(box);
    plotPanel(chart, panel, host);
    const legend = host.querySelector(".u-legend");
    legend.before(element("div", "axis below", panel.sideways ? panel.y.label : panel.x.label));
    if (panel.scale) box.append(colourBar(panel.scale));
  }
  figure.classList.add("drawn");
}
const seen = new IntersectionObserver(entries => entries.filter(each => each.isIntersecting).forEach(each => {
  seen.unobserve(each.target);
  draw(each.target);
}), {rootMargin: "300px"});
let stored = null;
try { stored = localStorage.getItem("minitopo-dc-theme"); } catch { /* none */ }
setTheme(THEMES.includes(stored) ? stored : "auto");
document.querySelectorAll("figure[data-chart]").forEach(each => seen.observe(each));
const more = document.getElementById("more");
if (more) more.onclick = () => { document.getElementById("questions").classList.add("all"); more.remove(); };
})();
