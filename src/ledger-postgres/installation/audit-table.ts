import type {
  AuditCount,
  AuditFields,
  AuditFilter,
  AuditLine,
  AuditPage,
  AuditRequest,
  AuditStore,
} from '../../audit/audit-store.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { statement } from '../database/statement.ts';

/** Number of lines that are kept. */
const KEPT = 200_000;
/** Maximum number of lines that are read for a page or a count, so that a filter that matches few lines does not read them all. */
const MAX_SCANNED = 20_000;

/** A line as the table holds it. `details` contains the fields except `who`, `via`, `what` and `address`. */
interface Row {
  readonly no: number;
  readonly at: number;
  readonly who: string | null;
  readonly via: string | null;
  readonly what: string;
  readonly address: string | null;
  readonly details: string;
}

/** The audit log of an installation as rows of `_audit`, newest first by number. Only the role of the ledger can read it. Times are those of the machine that wrote the line. */
export class AuditTable implements AuditStore {
  readonly hint = 'Check that the server of the ledger can be reached, and accepts writes.';
  readonly #access: PostgresAccess;
  readonly #clock: Clock;

  constructor(access: PostgresAccess, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  async write({ who, via, what, address, ...details }: AuditFields): Promise<void> {
    const at = this.#clock.now().getTime();
    const texts = [who, via, what, address].map((text) => (text === undefined ? null : String(text)));
    await this.#access.write(async (tx) => {
      const added = await tx.first(ADD, [at, ...texts, JSON.stringify(details)]);
      await tx.run(REMOVE_OLD, [(added?.no ?? 0) - KEPT]);
    });
  }

  async read(filter: AuditFilter, { limit, after }: AuditRequest): Promise<AuditPage | undefined> {
    const before = after === undefined ? undefined : cursorOf(after);
    if (after !== undefined && before === undefined) return undefined;
    return this.#access.ask(async (tx) => {
      if (before !== undefined && !(await tx.first(LINE, [before]))) return undefined;
      const { last } = (await tx.first(LAST_SCANNED, [before ?? null, MAX_SCANNED])) ?? {};
      if (last === undefined) return { rows: [], next: null };
      const found = await tx.rows(MATCHING, [before ?? null, last, ...conditionsOf(filter), limit + 1]);
      const rows = found.slice(0, limit);
      const more = found.length > limit ? rows.at(-1)?.no : (await tx.first(OLDER, [last])) && last;
      return { rows: rows.map(lineOf), next: more === undefined ? null : String(more) };
    });
  }

  async count(filter: AuditFilter, most: number): Promise<AuditCount> {
    return this.#access.ask(async (tx) => {
      const { last } = (await tx.first(LAST_SCANNED, [null, MAX_SCANNED])) ?? {};
      if (last === undefined) return { count: 0, isAtLeast: false };
      const found = await tx.rows(MATCHING, [null, last, ...conditionsOf(filter), most]);
      const isAtLeast = found.length === most || (await tx.first(OLDER, [last])) !== undefined;
      return { count: found.length, isAtLeast };
    });
  }

  /** Writes are durable when their promises resolve, and the connections belong to the caller. */
  async close(): Promise<void> {}
}

function cursorOf(id: string): number | undefined {
  return /^[0-9]{1,15}$/.test(id) ? Number(id) : undefined;
}

function conditionsOf({ who, what, since, until }: AuditFilter) {
  return [who ?? null, what ?? null, since?.getTime() ?? null, until?.getTime() ?? null];
}

function lineOf({ no, at, who, via, what, address, details }: Row): AuditLine {
  return {
    id: String(no),
    at: new Date(at).toISOString(),
    who: who ?? undefined,
    via: via ?? undefined,
    what,
    address: address ?? undefined,
    details: JSON.parse(details),
  };
}

const ADD = statement<{ no: number }>(
  'add-audit-line',
  'INSERT INTO _audit (at, who, via, what, address, details) VALUES ($1, $2, $3, $4, $5, $6) RETURNING audit_no AS no',
);

const REMOVE_OLD = statement('remove-audit-lines', 'DELETE FROM _audit WHERE audit_no <= $1');

const LINE = statement<{ no: number }>('audit-line', 'SELECT audit_no AS no FROM _audit WHERE audit_no = $1');

const OLDER = statement<{ no: number }>(
  'older-audit-line',
  'SELECT audit_no AS no FROM _audit WHERE audit_no < $1 LIMIT 1',
);

/** The oldest of the lines that may be read for one page. */
const LAST_SCANNED = statement<{ last: number }>(
  'last-audit-line',
  `SELECT min(audit_no) AS last FROM (SELECT audit_no FROM _audit WHERE $1::bigint IS NULL OR audit_no < $1 ORDER BY audit_no DESC LIMIT $2) s
   HAVING count(*) > 0`,
);

const MATCHING = statement<Row>(
  'audit-lines',
  `SELECT audit_no AS no, at, who, via, what, address, details FROM _audit
   WHERE ($1::bigint IS NULL OR audit_no < $1) AND audit_no >= $2 AND ($3::text IS NULL OR who = $3) AND ($4::text IS NULL OR what = $4)
     AND ($5::bigint IS NULL OR at >= $5) AND ($6::bigint IS NULL OR at < $6)
   ORDER BY audit_no DESC LIMIT $7`,
);
