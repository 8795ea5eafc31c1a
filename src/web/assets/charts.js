// Draws the charts of a page with uPlot, and again when the window, the colors or the data change.
"use strict";

{
  const style = () => getComputedStyle(document.documentElement);
  const color = (name) => style().getPropertyValue(`--${name}`).trim();
  const plots = new Map();

  const duration = (ms) => {
    if (ms < 1000) return `${Math.round(ms)}ms`;
    const s = ms / 1000;
    if (s < 60) return `${+s.toFixed(1)}s`;
    if (s < 3600) return `${+(s / 60).toFixed(1)}m`;
    return s < 86400 ? `${+(s / 3600).toFixed(1)}h` : `${+(s / 86400).toFixed(1)}d`;
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
        // Without a hovered step, the legend shows the latest.
        setCursor: [(u) => u.cursor.idx === null && u.setLegend({ idx: lastIndex(chart) }, false)],
      },
      scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(max * 1.05, 1)] } },
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
          points: { show: false },
          spanGaps: chart.joined === true,
          value: (_u, value) => value === null || value === undefined ? "–" : format(value),
          ...(chart.bars && { paths: bars }),
        })),
      ],
    };
  };

  const lastIndex = ({ times, series }) =>
    Math.max(...series.map(({ values }) => values.findLastIndex((value) => value !== null)), times.length > 0 ? 0 : -1);

  const draw = (figure) => {
    const chart = JSON.parse(figure.dataset.chart);
    const place = figure.querySelector(".plot");
    const width = place.clientWidth;
    if (width === 0) return;
    plots.get(figure)?.destroy();
    const isKnown = chart.series.some(({ values }) => values.some((value) => value !== null && value !== 0));
    place.hidden = !isKnown;
    const note = figure.querySelector(".note");
    if (note !== null) note.hidden = isKnown;
    const data = [
      chart.times,
      ...chart.series.map(({ values }) => values.length > 0 ? values : chart.times.map(() => null)),
    ];
    if (!isKnown) return;
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
