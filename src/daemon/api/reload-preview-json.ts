import type { ReloadPreview as PreviewJson } from '../../admin/contract/configuration.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { ReloadPreview } from '../units/reloader.ts';

/** Returns what a reload would change, for the pages and the API. */
export function reloadPreviewJson(preview: ReloadPreview): PreviewJson {
  const { file } = preview;
  if ('faults' in preview)
    return { file, options: null, plan: [], plan_failure: null, faults: [...preview.faults] };
  const { options, plan } = preview;
  const planned =
    plan instanceof LedgerError
      ? { plan: [], plan_failure: `${plan.message} ${plan.hint}` }
      : { plan: [...plan], plan_failure: null };
  return { file, options: [...options], ...planned, faults: [] };
}
