import { html } from 'htm/preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { DeliveryRow } from '../../contract/deliveries.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';

/** Returns the reason that all rows of a page have; undefined if they differ, if they have none, or if there is only one row. */
export function sameReason(rows: readonly DeliveryRow[]): string | undefined {
  const reason = rows[0]?.reason ?? undefined;
  return rows.length > 1 && rows.every((row) => row.reason === reason) ? reason : undefined;
}

/** Returns the line that replaces the reason in each row. */
export function reasonLine(rows: readonly DeliveryRow[], reason: string): Content {
  return html`<p class="said">Reason of all ${countOf(rows.length, 'delivery')} on this page: <bdi>${formattedText(reason)}</bdi></p>`;
}
