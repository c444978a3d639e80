import type { AuditFields } from '../../audit/audit-store.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { LeadChoice, LedgerControl } from '../../ledger/contract/ledger-control.ts';
import type { LedgerPersons } from '../../ledger/contract/ledger-persons.ts';
import type { LedgerPolling } from '../../ledger/contract/ledger-polling.ts';
import type { ActionFilter } from '../../ledger/contract/ledger-queries.ts';

/** The word and the details of an action in the audit log. */
type Action = readonly [what: string, details: AuditFields];

/** The parts of the ledger whose methods can change it or return a person's data. */
type Acting = LedgerControl & LedgerPersons & Pick<LedgerPolling, 'forgetOrigin'>;

/**
 * What the audit log records for each method: an action, made from the method's arguments, or nothing. `query`: the method changes nothing
 * and returns no personal data. `part`: the method belongs to an action that is recorded as a whole, or to the work of the daemon. A new
 * method does not compile until it has an entry here.
 */
const ACTIONS: {
  readonly [Method in keyof Acting]: ((...args: Parameters<Acting[Method]>) => Action) | 'query' | 'part';
} = {
  pause: (sink, reason) => ['pause', { sink, reason }],
  resume: (sink) => ['resume', { sink }],
  forget: (sink) => ['forget', { sink }],
  retry: (filter) => ['retry', detailsOf(filter)],
  discard: (filter, { note }) => ['discard', { ...detailsOf(filter), note }],
  replay: (sink, leads) => ['replay', { sink, ...detailsOf(leads) }],
  cancelReplays: (sink) => ['cancel-replay', { sink }],
  personRecord: ({ leads, rejected }) => [
    'export-subject',
    { leads: leads.length, rejected: rejected.length },
  ],
  forgetOrigin: (source) => ['moved', { source }],
  forgettable: 'query',
  retriable: 'query',
  discardable: 'query',
  replayable: 'query',
  cancellable: 'query',
  clockAt: 'query',
  lastDeclaration: 'query',
  findPerson: 'query',
  sinkErasures: 'query',
  formerDestinations: 'query',
  unfinishedErasures: 'query',
  erasedLeads: 'query',
  erase: 'part',
  finishErasing: 'part',
  declareSinks: 'part',
  declareSources: 'part',
  backfill: 'part',
  finishReplays: 'part',
  clockWentBack: 'part',
  computeClientKeys: 'part',
  removeOld: 'part',
};

/** Returns a ledger that records each action before it happens. If `record` rejects, the action does not happen. */
export function auditedLedger(
  ledger: Ledger,
  record: (what: string, details: AuditFields) => Promise<unknown>,
): Ledger {
  return new Proxy(ledger, {
    get: (_, name) => {
      const method = Reflect.get(ledger, name) as unknown;
      if (typeof method !== 'function') return method;
      const action = Object.hasOwn(ACTIONS, name) && ACTIONS[name as keyof Acting];
      if (typeof action !== 'function') return method.bind(ledger);
      return async (...args: never[]) => {
        await record(...(action as (...args: never[]) => Action)(...args));
        return method.apply(ledger, args);
      };
    },
  });
}

/** Returns a filter as fields for the audit log. Replaces the ids with their number, unless there is only one. */
function detailsOf({ ids, lead, states, ...filter }: ActionFilter & LeadChoice): AuditFields {
  const rest = Object.entries(filter).map(
    ([name, value]) => [name, value instanceof Date ? value.toISOString() : value] as const,
  );
  const all = [...(ids?.leads ?? []).map(String), ...(ids?.deliveries ?? [])];
  return {
    ...Object.fromEntries(rest),
    ...(lead !== undefined && { lead: String(lead) }),
    ...(states && { states: states.join(', ') }),
    ...(ids && (all.length === 1 ? { id: all[0] } : { ids: all.length })),
  };
}
