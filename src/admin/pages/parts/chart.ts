import { html } from 'htm/preact';
import type { VNode } from 'preact';

/** A chart over time, which a script draws. */
export interface Chart {
  readonly id: string;
  /** What the chart shows, for screen readers: its subject and a summary. */
  readonly label: string;
  /** `bars` are stacked; `lines` may have gaps. */
  readonly kind: 'bars' | 'lines';
  /** What the numbers count, in the plural (`leads`), or `ms`. */
  readonly unit: string;
  /** Length of the interval that each point represents, in seconds. */
  readonly stepSeconds: number;
  readonly series: readonly { readonly name: string; readonly tone: 'accent' | 'good' | 'warning' | 'bad' }[];
  /** Each point: its beginning in seconds since 1970, and a value for each series. */
  readonly points: readonly (readonly (number | null)[])[];
}

/**
 * Returns the element in which the script draws a chart. A pointer, a touch or the arrow keys move its tooltip. If there are several series, a
 * legend follows.
 */
export function chart({ id, label, series, ...data }: Chart): VNode {
  return html`<div id=${id} class="chart" role="img" tabindex="0" aria-label=${label} data-chart=${JSON.stringify({ ...data, series })} hx-morph-skip-children></div>
    ${
      series.length > 1 &&
      html`<p class="key hint">${series.map(({ name, tone }) => html`<span class=${`swatch ${tone}`}>${name}</span> `)}</p>`
    }
    <noscript><p class="hint">The chart needs JavaScript.</p></noscript>`;
}
