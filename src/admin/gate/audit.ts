import { codeOf } from '../../platform/failures/error-code.ts';
import { type Actor, actor } from '../contract/actor.ts';
import type { Operations } from '../contract/operations.ts';
import { RequestError } from '../contract/request-error.ts';

/** Who did what, when: a line of the audit log. Never holds a lead's content. */
export interface AuditEntry extends Partial<Actor> {
  readonly what: string;
  readonly [detail: string]: string | number | boolean | undefined;
}

/** Resolves when the entry is on disk. */
export type Audit = (entry: AuditEntry) => Promise<void>;

/** Notes what is about to be done. @throws RequestError when it cannot be written: then it is not to be done */
export type RecordAudit = (
  what: string,
  details?: Readonly<Record<string, string | number | boolean | undefined>>,
) => Promise<void>;

/** Notes in an audit log, with who asks. */
export function auditRecorder(audit: Audit): RecordAudit {
  return async (what, details = {}) => {
    try {
      await audit({ ...actor.getStore(), what, ...details });
    } catch (error) {
      throw new RequestError(
        503,
        'audit-log',
        `This was not done: it could not be written to the audit log (${codeOf(error) ?? 'unknown error'}).`,
        'See whether data_dir has room and belongs to the user that leadsync runs as.',
      );
    }
  };
}

/** The same operations, with a line in the audit log for each reveal and each action before it is done. */
export function withAudit(operations: Operations, record: RecordAudit): Operations {
  return {
    ...operations,
    reveal: async (source, lead, version) => {
      await record('reveal', { source, lead, version });
      return operations.reveal(source, lead, version);
    },
    retry: async (filter) => {
      await record('retry', { ...filter });
      return operations.retry(filter);
    },
    replay: async (sink, source, lead) => {
      await record('replay', { sink, source, lead });
      return operations.replay(sink, source, lead);
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
