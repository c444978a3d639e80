import type { DeliveryFilter } from '../../admin/contract/deliveries.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import type { AskLedger } from '../../ledger/contract/ledger-pages.ts';
import type { LedgerStatus } from '../../ledger/contract/status-rows.ts';
import { batchNotFound } from '../../status/batch-search.ts';
import { allSinks, viewSources } from '../../status/status-view.ts';
import type { Parts } from '../start/parts.ts';

/** Requires known names, because a query for a misspelt name would find nothing, which looks like good news. @throws RequestError */
export async function requireNames(
  { parts }: { readonly parts: Pick<Parts, 'current'> },
  query: AskLedger,
  { sink, source }: { sink?: string | undefined; source?: string | undefined },
): Promise<void> {
  if (sink === undefined && source === undefined) return;
  const status: LedgerStatus = await query('status');
  const { config } = parts.current;
  const renamed = config.sinks.find(({ formerly }) => formerly === sink)?.name;
  requireName('sink', sink, allSinks(config, status), renamed);
  requireName('source', source, viewSources(config, status));
}

function requireName(
  kind: 'sink' | 'source',
  name: string | undefined,
  known: readonly { readonly name: string }[],
  renamed?: string,
): void {
  if (name === undefined || known.some((one) => one.name === name)) return;
  const all =
    known.length === 0
      ? `There are no ${kind}s.`
      : `The ${kind}s are: ${known.map((one) => one.name).join(', ')}.`;
  const what = `There is no ${kind} "${name}"${renamed === undefined ? '.' : `: it was renamed to ${renamed}.`}`;
  throw new RequestError(404, `unknown-${kind}`, what, all);
}

/**
 * Requires that a filter which selects no delivery does not name an unknown batch, because leadsync searches only the last attempts for it.
 * `selected` is the number of deliveries that the filter selects. @throws RequestError
 */
export async function requireBatch(
  query: AskLedger,
  { webhook_id: webhookId }: Pick<DeliveryFilter, 'webhook_id'>,
  selected: number,
): Promise<void> {
  const unknown = selected === 0 ? batchNotFound(webhookId) : undefined;
  if (unknown === undefined || (await query('countDeliveries', { webhookId }, 1)).count > 0) return;
  throw new RequestError(404, 'unknown-batch', unknown.message, unknown.hint);
}
