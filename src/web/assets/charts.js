// Draws the charts of a page with uPlot, and again when the window, the colors or the data change.
"use strict";

{
  const style = () => getComputedStyle(document.documentElement);
  const color = (name) => style().getPropertyValue(`--${name}`).trim();
  const plots = new Map();

  const duration = (ms) => {
    if (ms < 1000) return `${Math.round(ms)}ms`;
    if (ms < 60000) return `${+(ms / 1000).toFixed(1)}s`;
    const s = Math.round(ms / 1000);
    const [big, small, of] = s < 3600 ? ["m", "s", 60] : s < 86400 ? ["h", "m", 3600] : ["d", "h", 86400];
    const rest = Math.floor((s % of) / { s: 1, m: 60, h: 3600 }[small]);
    return `${Math.floor(s / of)}${big}${rest > 0 ? `${rest}${small}` : ""}`;
  };
  const two = (n) => String(n).padStart(2, "0");
  const clock = (s) => {
    const time = new Date(s * 1000);
    return `${two(time.getHours())}:${two(time.getMinutes())}`;
  };
  const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
  const date = (s) => day.format(s * 1000);
  const count = (value) => value >= 10000 ? `${+(value / 1000).toFixed(1)}k` : String(+value.toFixed(1));

  const options = (chart, width) => {
    const format = chart.unit === "ms" ? duration : count;
    const axis = { stroke: color("soft"), font: `11px ${color("sans")}`, ticks: { show: false } };
    const grid = { stroke: color("line-soft"), width: 1 };
    const bars = uPlot.paths.bars({ size: [0.8, 40], align: 1 });
    return {
      width,
      height: 150,
      legend: { live: true },
      cursor: { y: false, points: { show: !chart.bars } },
      hooks: {
        // Without a hovered step, the legend shows the latest one that is complete.
        setCursor: [(u) => u.cursor.idx === null && u.setLegend({ idx: lastIndex(chart) }, false)],
      },
      // The bar of the last step ends where the step does.
      scales: {
        x: { time: true, range: (_u, min, max) => [min, max + (chart.bars ? chart.stepS : 0)] },
        y: { range: (_u, _min, max) => [0, Math.max(max * 1.05, chart.unit === "ms" ? 10 : 2)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 70,
          size: 26,
          values: (_u, splits, _a, _s, step) => splits.map(step < 86400 ? clock : date),
        },
        { ...axis, grid, size: 48, splits: undefined, values: (_u, splits) => splits.map(format), space: 34 },
      ],
      series: [
        {
          label: "Time",
          value: (_u, s) =>
            s === null || s === undefined ? "–" : `${date(s)}${chart.stepS < 86400 ? ` ${clock(s)}` : ""}`,
        },
        ...chart.series.map((one) => ({
          label: one.label,
          stroke: color(one.color),
          fill: chart.bars ? color(one.color) : chart.series.length > 1 ? undefined : `${color(one.color)}22`,
          width: chart.bars ? 0 : 1.5,
          // A value without neighbours makes no line: it is a point.
          points: chart.bars
            ? { show: false }
            : { show: true, size: 5, fill: color(one.color), filter: () => alone(one) },
          spanGaps: chart.joined === true,
          value: (_u, value) => value === null || value === undefined ? "–" : format(value),
          ...(chart.bars && { paths: bars }),
        })),
      ],
    };
  };

  const isAt = (values, i) => values[i] !== null && values[i] !== undefined;
  const alone = ({ values }) =>
    values.flatMap((_, i) => isAt(values, i) && !isAt(values, i - 1) && !isAt(values, i + 1) ? [i] : []);

  /** The step that has just begun counts only if there is no other. */
  const lastIndex = ({ times, series, bars, stepS }) => {
    const last = (until) =>
      Math.max(...series.map(({ values }) => values.findLastIndex((value, i) => value !== null && i < until)));
    const complete = bars && times.at(-1) + stepS > Date.now() / 1000 ? times.length - 1 : times.length;
    const found = last(complete);
    return found >= 0 ? found : Math.max(last(times.length), times.length > 0 ? 0 : -1);
  };

  const draw = (figure) => {
    const chart = JSON.parse(figure.dataset.chart);
    const place = figure.querySelector(".plot");
    plots.get(figure)?.destroy();
    // As on the server: a line of zeros has been recorded, bars of zeros can't be seen.
    const isKnown = chart.series.some(({ values }) =>
      values.some((value) => value !== null && !(chart.bars && value === 0))
    );
    place.hidden = !isKnown;
    const note = figure.querySelector(".note");
    if (note !== null) note.hidden = isKnown;
    const data = [
      chart.times,
      ...chart.series.map(({ values }) => values.length > 0 ? values : chart.times.map(() => null)),
    ];
    if (!isKnown) return;
    // A hidden place has no width.
    const width = place.clientWidth;
    if (width === 0) return;
    const plot = new uPlot(options(chart, width), data, place);
    plots.set(figure, plot);
    plot.setLegend({ idx: lastIndex(chart) });
  };

  const all = () => document.querySelectorAll("figure[data-chart]");
  const drawAll = () => all().forEach(draw);
  drawAll();
  document.fonts.ready.then(drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) drawAll();
    width = innerWidth;
  });

  // The latest step grows: reads the data again every 30 s.
  setInterval(async () => {
    if (document.hidden || !document.querySelector("#live")?.checked) return;
    try {
      const response = await fetch(location.href, { headers: { "x-live": "charts" } });
      if (!response.ok || response.redirected) return;
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const figure of all()) {
        const other = fresh.getElementById(figure.id);
        if (other === null || other.dataset.chart === figure.dataset.chart) continue;
        figure.dataset.chart = other.dataset.chart;
        draw(figure);
      }
    } catch {
      // The next interval tries again.
    }
  }, 30000);
}
