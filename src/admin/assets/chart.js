// Draws every chart of a page with uPlot, from `data-chart`: see parts/chart.ts. A pointer, a touch or the arrow keys move its tooltip.
(() => {
  const WIDEST_BAR = 40;
  /** A bar is cut if it is more than this many times as high as the bars that are usually the highest. */
  const TOO_HIGH = 10;
  const grouped = (number) => number.toLocaleString('en');

  function chartIn(place) {
    let plot;
    let drawn;
    let chart;
    const tip = document.createElement('div');
    tip.className = 'chart-tip';
    tip.setAttribute('aria-live', 'polite');
    tip.hidden = true;

    function draw() {
      if (place.dataset.chart === drawn && plot) return;
      drawn = place.dataset.chart;
      chart = JSON.parse(drawn);
      if (plot) plot.setData(dataOf(chart));
      else create();
    }

    function create() {
      plot = new uPlot(optionsOf(), dataOf(chart), place);
      place.append(tip);
      for (const type of ['pointerdown', 'pointermove'])
        plot.over.addEventListener(type, (event) => {
          if (event.pointerType === 'touch') plot.setCursor({ left: event.offsetX, top: event.offsetY });
        });
    }

    function optionsOf() {
      const axis = {
        stroke: colour('--quiet'),
        font: `11px ${getComputedStyle(document.body).fontFamily}`,
        grid: { stroke: colour('--line'), width: 1 },
        ticks: { show: false },
      };
      const isTime = chart.unit === 'ms';
      return {
        ...size(),
        legend: { show: false },
        cursor: { y: false, points: { show: chart.kind === 'lines' }, drag: { x: false } },
        scales: {
          // A point represents the interval that begins at it, so the last one needs room.
          x: { range: (_plot, min, max) => [min, max + chart.stepSeconds] },
          y: { range: (_plot, _min, max) => [0, Math.max(4, Math.min(max, highest(chart)) * 1.1)] },
        },
        axes: [
          // The gap keeps the first time clear of the lowest value, which is centred on the line between them.
          { ...axis, size: 46, gap: 12, grid: { show: false }, values: (_plot, times) => times.map(timeOf) },
          {
            ...axis,
            size: isTime ? 56 : 52,
            space: 26,
            values: (_plot, values) => values.map((value) => textOf(value)),
            ...(isTime ? {} : { incrs: wholeSteps() }),
          },
        ],
        series: [{}, ...inOrder(chart).map(seriesOf)],
        hooks: { setCursor: [showTip], setData: [showTip], draw: [markCuts] },
      };
    }

    /** Draws a gap across each bar that is cut, and its value beside the gap. */
    function markCuts({ ctx, bbox, valToPos }) {
      const { devicePixelRatio: scale } = window;
      ctx.save();
      ctx.font = `${11 * scale}px ${getComputedStyle(document.body).fontFamily}`;
      ctx.textBaseline = 'top';
      for (const [time, ...values] of chart.points) {
        const total = sum(values);
        if (chart.kind !== 'bars' || total <= highest(chart)) continue;
        const [from, to] = [time, time + chart.stepSeconds].map((at) => valToPos(at, 'x', true));
        ctx.fillStyle = colour('--surface');
        ctx.fillRect(from, bbox.top + 16 * scale, to - from, 3 * scale);
        const text = `↑ ${grouped(total)}`;
        const isLate = (from + to) / 2 > bbox.left + bbox.width / 2;
        ctx.textAlign = isLate ? 'right' : 'left';
        ctx.fillStyle = colour('--text');
        ctx.fillText(text, isLate ? from - 4 * scale : to + 4 * scale, bbox.top + 2 * scale);
      }
      ctx.restore();
    }

    function seriesOf({ tone }) {
      const stroke = colour(`--${tone}`);
      if (chart.kind === 'bars')
        return {
          fill: stroke,
          stroke,
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars({ size: [0.75, WIDEST_BAR], align: 1 }),
        };
      return { stroke, width: 2, points: { size: 5, fill: stroke } };
    }

    function size() {
      return { width: place.clientWidth - 20, height: place.clientHeight - 14 };
    }

    /** Returns the computed colour. A canvas does not understand light-dark(), but an element does. */
    function colour(name) {
      const probe = document.createElement('span');
      probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(name);
      place.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    }

    function textOf(value) {
      if (chart.unit !== 'ms') return grouped(value);
      return value < 1000 ? `${Math.round(value)} ms` : `${Math.round(value / 100) / 10} s`;
    }

    function unitOf(value) {
      return value === 1 ? chart.unit.replace(/s$/, '') : chart.unit;
    }

    /** Shows the time under the cursor and its values. */
    function showTip() {
      const at = plot?.cursor.idx;
      const point = at == null ? undefined : chart.points[at];
      tip.hidden = point === undefined;
      if (!point) return;
      const [time, ...values] = point;
      const words = values.map((value, of) => {
        const text = value == null ? '–' : textOf(value);
        return chart.series.length > 1 ? `${chart.series[of].name} ${text}` : `${text} ${unitOf(value)}`;
      });
      // Durations have their unit in each value.
      const counted = chart.series.length > 1 && chart.unit !== 'ms' ? `, ${chart.unit}` : '';
      const said = `${spanOf(time, chart.stepSeconds)}${counted}: ${words.join(', ')}`;
      if (tip.textContent !== said) tip.textContent = said;
      const left = plot.valToPos(time, 'x') + plot.over.offsetLeft;
      tip.classList.toggle('left', left > place.clientWidth / 2);
      tip.style.setProperty('--at', `${left}px`);
      tip.style.setProperty('--room', `${place.clientWidth}px`);
    }

    function moveTo(index) {
      const last = chart.points.length - 1;
      const at = Math.min(last, Math.max(0, index));
      if (at < 0) return;
      plot.setCursor({ left: plot.valToPos(chart.points[at][0], 'x'), top: 10 });
    }

    place.addEventListener('keydown', (event) => {
      const last = chart.points.length - 1;
      const at = plot.cursor.idx;
      const to = { ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[
        event.key
      ];
      if (event.key === 'Escape') plot.setCursor({ left: -10, top: -10 });
      if (to === undefined) return;
      event.preventDefault(); // otherwise the page scrolls
      moveTo(to);
    });
    place.addEventListener('blur', () => plot.setCursor({ left: -10, top: -10 }));

    draw();
    new ResizeObserver(() => plot?.setSize(size())).observe(place);
    return {
      draw,
      redraw: () => {
        plot?.destroy();
        plot = undefined;
        draw();
      },
    };
  }

  /** Returns the data for uPlot. Bars are stacked: the first series is in front, and each later one reaches above it. */
  function dataOf({ kind, points, series }) {
    const columns = series.map((_, of) =>
      points.map((point) => (kind === 'bars' ? sum(point.slice(1, of + 2)) : point[of + 1])),
    );
    return [points.map(([time]) => time), ...(kind === 'bars' ? columns.reverse() : columns)];
  }

  /** Returns the series in the order in which they are drawn. */
  function inOrder({ kind, series }) {
    return kind === 'bars' ? series.toReversed() : series;
  }

  function sum(values) {
    return values.reduce((total, value) => total + (value ?? 0), 0);
  }

  /**
   * Returns the highest value that is shown in full. A bar far above all others, such as that of a first import, would make these invisible, so it is
   * cut.
   */
  function highest({ kind, points }) {
    if (kind !== 'bars') return Infinity;
    const totals = points
      .map(([, ...values]) => sum(values))
      .filter((total) => total > 0)
      .sort((one, other) => one - other);
    const usual = totals[Math.floor(0.9 * (totals.length - 1))] ?? 0;
    return totals.findLast((total) => total <= TOO_HIGH * usual) ?? 0;
  }

  function wholeSteps() {
    return [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((step) => [step, 2 * step, 5 * step]);
  }

  const day = (at) => at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  const clock = (at) => at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

  /** Returns the time of day, and below it the day if that is another than at the time before. */
  function timeOf(time, index, times) {
    const at = new Date(time * 1000);
    const isNewDay = index === 0 || day(at) !== day(new Date(times[index - 1] * 1000));
    return isNewDay ? `${clock(at)}\n${day(at)}` : clock(at);
  }

  function spanOf(time, seconds) {
    const [from, to] = [new Date(time * 1000), new Date((time + seconds) * 1000)];
    return `${day(from)} ${clock(from)}–${clock(to)}`;
  }

  const charts = [...document.querySelectorAll('.chart[data-chart]')].map(chartIn);
  const redrawAll = () => {
    for (const chart of charts) chart.redraw();
  };
  document.addEventListener('htmx:after:swap', () => {
    for (const chart of charts) chart.draw();
  });
  document.addEventListener('theme', redrawAll);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
})();
