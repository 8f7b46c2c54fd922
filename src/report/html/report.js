"use strict";
(function () {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "pentagon"];
  const FILLS = ["", "-open", "-open-dot", "-dot"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];

  // Everything that can be chosen. `shown[p]` holds the enabled values of parameter p, by index.
  const state = {
    shown: data.parameters.map((p) => new Set(p.values.keys())),
    grid: data.grid.length ? data.grid[0] : null,
    metric: data.metrics[0],
    x: "ratio",
    latency: "mean",
  };
  if (data.grid.length) {
    const batch = data.grid[0][0];
    const lengths = data.grid.filter((g) => g[0] === batch);
    state.grid = lengths[lengths.length - 1];
  }

  const visible = () => data.cells.filter((c) => c.values.every((v, p) => state.shown[p].has(v)));
  const point = (cell, g) => cell.time.find((t) => t.batch === g[0] && t.length === g[1]);
  const color = (cell) => css("--c" + (cell.values.length ? cell.values[0] % 8 : 0));
  const symbol = (cell) =>
    SHAPES[cell.values.length > 1 ? cell.values[1] % SHAPES.length : 0] +
    FILLS[cell.values.length > 2 ? cell.values[2] % FILLS.length : 0];
  // Plotly reads a few tags in hover text, so names go in escaped.
  const safe = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const describe = (cell) => cell.values.length
    ? cell.values.map((v, p) => safe(data.parameters[p].name) + ": <b>" + safe(data.parameters[p].values[v]) + "</b>").join("<br>")
    : "<b>" + safe(cell.label) + "</b>";

  function layout(extra) {
    const axis = {
      gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line"), tickcolor: css("--line"),
      automargin: true, title: {standoff: 10, font: {size: 13}},
    };
    const out = Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
      font: {family: getComputedStyle(document.body).fontFamily, size: 13, color: css("--muted")},
      margin: {l: 56, r: 16, t: 14, b: 46},
      hoverlabel: {bgcolor: css("--surface"), bordercolor: css("--grey"), align: "left", font: {color: css("--text"), size: 13}},
    }, extra);
    for (const key of Object.keys(out)) if (/^[xy]axis/.test(key)) out[key] = Object.assign({}, axis, out[key], {title: Object.assign({}, axis.title, out[key].title)});
    return out;
  }
  const config = {responsive: true, displaylogo: false, displayModeBar: false, showTips: false};

  function drawScatter() {
    const box = document.getElementById("scatter");
    if (!box) return;
    const xs = {
      ratio: {title: "speed-up over the original (higher is better)", of: (t) => t.ratio},
      sps: {title: "samples a second (higher is better)", of: (t) => t.optimized && t.optimized.sps, base: (t) => t.baseline && t.baseline.sps},
      mean: {title: "mean latency, ms (lower is better)", of: (t) => t.optimized && t.optimized.mean, base: (t) => t.baseline && t.baseline.mean},
    }[state.x];
    const traces = [], shapes = [], annotations = [], points = [];
    const original = {x: [], y: [], text: []};
    let level = null;
    for (const cell of visible()) {
      const m = cell.metrics[state.metric], t = state.grid && point(cell, state.grid);
      if (!m) continue;
      if (m.baseline) level = m.baseline;
      const x = t && xs.of(t);
      if (x && m.optimized) points.push({cell, m, t, x: x.v, y: m.optimized.v});
      const b = t && xs.base && xs.base(t);
      if (b && m.baseline) { original.x.push(b.v); original.y.push(m.baseline.v); original.text.push("original<br>" + b.t + ", " + safe(state.metric) + " " + m.baseline.t); }
    }
    const span = (key) => Math.max(1e-12, Math.max(...points.map((p) => p[key])) - Math.min(...points.map((p) => p[key])));
    const near = {x: 0.012 * span("x"), y: 0.012 * span("y")};
    // Open marks are drawn larger and last, so that a mark under them still shows.
    const open = (p) => symbol(p.cell).includes("-open");
    points.sort((a, b) => open(a) - open(b));
    for (const p of points) {
      const beside = points.filter((o) => o !== p && Math.abs(o.x - p.x) <= near.x && Math.abs(o.y - p.y) <= near.y);
      traces.push({
        x: [p.x], y: [p.y], mode: "markers", type: "scatter", hovertemplate: "%{text}<extra></extra>",
        marker: {size: open(p) ? 16 : 11, color: color(p.cell), symbol: symbol(p.cell), line: {width: 2, color: color(p.cell)}},
        text: [[p].concat(beside).map((o) => describe(o.cell) + "<br>" + safe(state.metric) + " <b>" + o.m.optimized.t + "</b> (" + o.m.change + ")" +
          "<br>mean latency <b>" + o.t.optimized.mean.t + " ms</b>, original " + (o.t.baseline ? o.t.baseline.mean.t + " ms" : "–") +
          "<br>" + o.t.optimized.sps.t + " samples/s, " + (o.t.ratio ? o.t.ratio.t + " as fast" : "–")).join("<br><br>")],
      });
    }
    if (original.x.length) traces.unshift({
      x: original.x, y: original.y, text: original.text, mode: "markers", type: "scatter", hovertemplate: "%{text}<extra></extra>",
      marker: {size: 10, color: css("--grey"), symbol: "x-thin", line: {width: 2, color: css("--grey")}},
    });
    if (level) {
      shapes.push({type: "line", xref: "paper", x0: 0, x1: 1, y0: level.v, y1: level.v, line: {color: css("--grey"), width: 1.5, dash: "dot"}});
      annotations.push({xref: "paper", x: 1, xanchor: "right", y: level.v, yanchor: "bottom", showarrow: false, text: "original " + level.t, font: {color: css("--muted"), size: 12}});
    }
    if (state.x === "ratio") shapes.push({type: "line", yref: "paper", y0: 0, y1: 1, x0: 1, x1: 1, line: {color: css("--grey"), width: 1.5, dash: "dot"}});
    document.getElementById("scatter-empty").hidden = traces.length > 0;
    Plotly.react(box, traces, layout({
      height: 460, shapes, annotations,
      xaxis: {title: {text: xs.title}, rangemode: state.x === "ratio" ? "normal" : "tozero"},
      yaxis: {title: {text: safe(state.metric)}},
    }), config);
  }

  function drawLatency() {
    const box = document.getElementById("latency");
    if (!box) return;
    const batches = [...new Set(data.grid.map((g) => g[0]))];
    const stacked = box.clientWidth < 700 && batches.length > 1;
    const columns = stacked ? 1 : Math.min(batches.length, 4), rows = Math.ceil(batches.length / columns);
    const traces = [], extra = {height: rows * (stacked ? 270 : 330) + 40, annotations: [], margin: {l: 48, r: 12, t: 34, b: 46}};
    const gap = {x: columns > 1 ? 0.06 : 0, y: rows > 1 ? (stacked ? 0.11 : 0.16) : 0};
    const size = {x: (1 - gap.x * (columns - 1)) / columns, y: (1 - gap.y * (rows - 1)) / rows};
    batches.forEach((batch, i) => {
      const n = i === 0 ? "" : String(i + 1), col = i % columns, row = Math.floor(i / columns);
      const x0 = col * (size.x + gap.x), y1 = 1 - row * (size.y + gap.y);
      extra["xaxis" + n] = {domain: [x0, x0 + size.x], anchor: "y" + n, type: "category", title: {text: row === rows - 1 ? "input length" : ""}};
      extra["yaxis" + n] = {domain: [Math.max(0, y1 - size.y), y1], anchor: "x" + n, rangemode: "tozero", title: {text: col === 0 ? "ms" : ""}};
      extra.annotations.push({text: "batch size " + batch, xref: "paper", yref: "paper", x: x0, y: y1, xanchor: "left", yanchor: "bottom", yshift: 6, showarrow: false, font: {color: css("--text"), size: 13}});
      const lengths = data.grid.filter((g) => g[0] === batch).map((g) => g[1]);
      const add = (cell, side, style) => {
        const x = [], y = [], text = [];
        for (const length of lengths) {
          const t = point(cell, [batch, length]), v = t && t[side] && t[side][state.latency];
          if (!v) continue;
          x.push(String(length)); y.push(v.v);
          text.push((side === "baseline" ? "original, timed beside<br>" : "") + describe(cell) + "<br>batch " + batch + ", length " + length + ": <b>" + v.t + " ms</b>");
        }
        if (x.length) traces.push(Object.assign({x, y, text, xaxis: "x" + n, yaxis: "y" + n, type: "scatter", hovertemplate: "%{text}<extra></extra>"}, style));
      };
      for (const cell of visible()) add(cell, "baseline", {mode: "markers", marker: {size: 7, color: css("--grey"), symbol: "x-thin", line: {width: 1.5, color: css("--grey")}}});
      for (const cell of visible()) add(cell, "optimized", {
        mode: "lines+markers", line: {width: 2, color: color(cell), dash: DASHES[cell.values.length > 1 ? cell.values[1] % 4 : 0]},
        marker: {size: 8, color: color(cell), symbol: symbol(cell), line: {width: 1.5, color: color(cell)}},
      });
    });
    document.getElementById("latency-empty").hidden = traces.length > 0;
    Plotly.react(box, traces, layout(extra), config);
  }

  function draw() {
    if (typeof Plotly === "undefined") return;
    drawScatter();
    drawLatency();
  }

  // Controls. Pills of a parameter may each be on or off; the last one that is on stays on.
  for (const pill of document.querySelectorAll(".pill[data-parameter]")) {
    pill.addEventListener("click", () => {
      const p = Number(pill.dataset.parameter), v = Number(pill.dataset.value), shown = state.shown[p];
      if (shown.has(v) && shown.size > 1) shown.delete(v); else shown.add(v);
      for (const other of document.querySelectorAll('.pill[data-parameter="' + p + '"][data-value="' + v + '"]'))
        other.setAttribute("aria-pressed", String(shown.has(v)));
      draw();
    });
  }
  const choose = (id, apply) => {
    const select = document.getElementById(id);
    if (select) select.addEventListener("change", () => { apply(select.value); draw(); });
  };
  const pick = (index, value) => {
    const wanted = state.grid.slice();
    wanted[index] = Number(value);
    state.grid = data.grid.find((g) => g[0] === wanted[0] && g[1] === wanted[1]) || data.grid.find((g) => g[index] === wanted[index]);
    document.getElementById("choose-batch").value = state.grid[0];
    document.getElementById("choose-length").value = state.grid[1];
  };
  choose("choose-metric", (v) => { state.metric = v; });
  choose("choose-x", (v) => { state.x = v; });
  choose("choose-batch", (v) => pick(0, v));
  choose("choose-length", (v) => pick(1, v));
  choose("choose-latency", (v) => { state.latency = v; });
  if (state.grid) pick(0, state.grid[0]);

  // Search in the nodes: every word must occur somewhere in the row.
  const search = document.getElementById("node-search"), outcome = document.getElementById("node-outcome");
  function filterNodes() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), want = outcome.value;
    for (const group of document.querySelectorAll("details.nodes")) {
      let hits = 0;
      for (const row of group.querySelectorAll("tr[data-quantized]")) {
        const text = row.textContent.toLowerCase();
        const show = (want === "all" || row.dataset.quantized === want) && words.every((w) => text.includes(w));
        row.hidden = !show;
        if (show) hits += 1;
      }
      group.querySelector(".hits").textContent = words.length || want !== "all" ? " · " + hits + " shown" : "";
      if (words.length) group.open = hits > 0;
    }
  }
  if (search) {
    search.addEventListener("input", filterNodes);
    outcome.addEventListener("change", filterNodes);
  }

  // Theme: the system's unless the person chose one.
  let chosen = null;
  const button = document.querySelector("button.theme");
  function theme(name) {
    root.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to the " + (name === "dark" ? "light" : "dark") + " theme");
    draw();
  }
  button.addEventListener("click", () => { chosen = root.dataset.theme === "dark" ? "light" : "dark"; theme(chosen); });
  dark.addEventListener("change", () => { if (!chosen) theme(dark.matches ? "dark" : "light"); });
  let resizing = null;
  window.addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(drawLatency, 150); });
  theme(location.hash === "#dark" || (dark.matches && location.hash !== "#light") ? "dark" : "light");
})();
