import { codeOf } from '../../platform/failures/error-code.ts';
import { type Actor, actor } from '../contract/actor.ts';
import type { Ids, Operations } from '../contract/operations.ts';
import { RequestError } from '../contract/request-error.ts';

/** An entry of the audit log: a client and its action. Never holds a lead's content. */
export interface AuditEntry extends Partial<Actor> {
  readonly what: string;
  readonly [detail: string]: string | number | boolean | undefined;
}

/** Appends an entry, and resolves when it is on disk. */
export type Audit = (entry: AuditEntry) => Promise<void>;

/** Records an action before it happens. @throws RequestError if the audit log cannot be written; the caller must then not act */
export type RecordAudit = (
  what: string,
  details?: Readonly<Record<string, string | number | boolean | undefined>>,
) => Promise<void>;

/** Details for an action by a person whose identity is not proved. They overwrite the identity of the session that the request may carry. */
export const UNPROVED = {
  who: undefined,
  via: undefined,
  role: undefined,
  subject: undefined,
  issuer: undefined,
} as const;

/**
 * Returns a function that records actions with the client of the request, except actions that the client has recorded itself. The function throws
 * RequestError if the audit log cannot be written.
 */
export function auditRecorder(audit: Audit): RecordAudit {
  return async (what, details = {}) => {
    if (actor.getStore()?.isRecorded) return;
    try {
      await audit({ ...actor.getStore(), what, ...details });
    } catch (error) {
      throw new RequestError(
        503,
        'audit-log',
        `Nothing was done, because the audit log cannot be written (${codeOf(error) ?? 'unknown error'}).`,
        'Check that data_dir has free space and belongs to the user that leadsync runs as.',
      );
    }
  };
}

/** Returns the operations with auditing: the audit log records each action before it happens, and each reveal before its content is sent. */
export function withAudit(operations: Operations, record: RecordAudit): Operations {
  return {
    ...operations,
    reveal: async (source, lead, version, delivery) => {
      await record('reveal', { source, lead, version, delivery });
      return operations.reveal(source, lead, version, delivery);
    },
    // What a sink gets, and the value of an expression, are lead content in another form.
    previews: async (source, lead) => {
      await record('reveal', { source, lead, as: 'previews' });
      return operations.previews(source, lead);
    },
    revealRejected: async (rejected) => {
      // The number alone tells a reader of the log nothing, so the line also names the lead.
      const content = await operations.revealRejected(rejected);
      await record('reveal', { rejected, source: content?.source, lead: content?.lead_id ?? undefined });
      return content;
    },
    tryExpression: async (request) => {
      if (request.lead) await record('reveal', { ...request.lead, as: 'expression' });
      return operations.tryExpression(request);
    },
    findLeads: async (search, page) => {
      await record('find', { source: search.source });
      return operations.findLeads(search, page);
    },
    retry: async (filter) => {
      await record('retry', detailsOf(filter));
      return operations.retry(filter);
    },
    discard: async (filter, note) => {
      await record('discard', { ...detailsOf(filter), note });
      return operations.discard(filter, note);
    },
    replayAll: async (sink, filter) => {
      await record('replay', { sink, ...detailsOf(filter) });
      return operations.replayAll(sink, filter);
    },
    cancelReplays: async (sink) => {
      await record('cancel-replay', { sink });
      return operations.cancelReplays(sink);
    },
    replay: async (sink, source, lead) => {
      await record('replay', { sink, source, lead });
      return operations.replay(sink, source, lead);
    },
    poll: async (source) => {
      await record('poll', { source });
      return operations.poll(source);
    },
    runExport: async (what, name) => {
      await record(what, { name });
      return operations.runExport(what, name);
    },
    pause: async (sink, reason) => {
      await record('pause', { sink, reason });
      return operations.pause(sink, reason);
    },
    resume: async (sink) => {
      await record('resume', { sink });
      return operations.resume(sink);
    },
    test: async (sink) => {
      await record('test', { sink });
      return operations.test(sink);
    },
    reload: async () => {
      await record('reload');
      return operations.reload();
    },
  };
}

/** Returns a filter for the audit log, with the number of its ids instead of the ids. */
function detailsOf<Filter extends Ids>({ ids, ...filter }: Filter) {
  return ids === undefined ? filter : { ...filter, ids: ids.length };
}
