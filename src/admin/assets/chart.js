// Draws leads per hour with uPlot, from the numbers in `data-points`.
(() => {
  const place = document.getElementById('chart');
  if (!place) return;
  const HOUR = 3600;
  let plot;
  let drawn;

  function draw() {
    if (place.dataset.points === drawn && plot) return;
    drawn = place.dataset.points;
    const points = JSON.parse(drawn);
    const data = [points.map(([time]) => time), points.map(([, leads]) => leads)];
    if (plot) plot.setData(data);
    else plot = new uPlot(options(), data, place);
  }

  function options() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => resolved(style.getPropertyValue(name));
    const axis = {
      stroke: colour('--quiet'),
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    return {
      ...size(),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false } },
      // A bar starts at its hour, so the last hour needs room after it.
      scales: {
        x: { range: (_plot, min, max) => [min, max + HOUR] },
        y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] },
      },
      axes: [
        { ...axis, size: 24, gap: 4, grid: { show: false }, values: (_plot, times) => times.map(hourOf) },
        {
          ...axis,
          size: 44,
          space: 26,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6],
        },
      ],
      series: [
        {},
        {
          fill: colour('--accent'),
          stroke: colour('--accent'),
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars({ size: [0.75, 40], align: 1 }),
        },
      ],
      hooks: { setCursor: [showHour] },
    };
  }

  function size() {
    return { width: place.clientWidth - 20, height: place.clientHeight - 14 };
  }

  /** Returns the computed colour. A canvas does not understand light-dark(), but an element does. */
  function resolved(value) {
    const probe = document.createElement('span');
    probe.style.color = value;
    place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }

  function hourOf(time) {
    const at = new Date(time * 1000);
    const hour = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    return at.getHours() === 0 ? at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' }) : hour;
  }

  /** Shows the hour under the pointer and its leads in the tooltip. */
  function showHour({ cursor, data }) {
    const at = cursor.idx;
    place.title = at == null ? '' : `${hourOf(data[0][at])}: ${data[1][at]} leads`;
  }

  function redraw() {
    plot?.destroy();
    plot = undefined;
    draw();
  }

  draw();
  new ResizeObserver(() => plot?.setSize(size())).observe(place);
  document.addEventListener('htmx:after:swap', draw);
  document.addEventListener('theme', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
})();
