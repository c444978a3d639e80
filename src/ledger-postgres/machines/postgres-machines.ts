import type {
  Beat,
  Found,
  HeldToken,
  KnownDuty,
  Machines,
  Message,
  OwnLife,
  ProcessFacts,
} from '../../ledger/contract/machines.ts';
import type { ProcessRow } from '../../ledger/contract/status-rows.ts';
import { leaseTimes, MISSING_MS } from '../../ledger/rules/machines/lease-times.ts';
import { requireStillHere } from '../database/copy-marks.ts';
import type { Notices } from '../database/notices.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { machinesSql } from './machines-sql.ts';

const {
  ADD_DUTIES,
  DUTIES,
  FORGET_PROCESSES,
  IS_KNOWN,
  KEEP,
  LIMIT,
  MISS,
  PROCESSES,
  REMOVE,
  SHOW_LIFE,
  TAKE,
  UNMISS,
} = machinesSql;

/** Time after which a dead process is forgotten, in ms. Every lease that it held has ended long before. */
const FORGOTTEN_MS = 86_400_000;

/**
 * The processes that work on a ledger in PostgreSQL, and the duties among them. A beat waits for no other process: it skips what others have locked.
 * Tokens and leases alone say who holds a duty; a beat that was given up may still be committed, and the next one shows it.
 */
export class PostgresMachines implements Machines {
  readonly holder: string;
  readonly #access: PostgresAccess;
  readonly #leaseMs: number;
  readonly #beatMs: number;
  readonly #notices: Notices;

  constructor(access: PostgresAccess, notices: Notices, holder: string, leaseMs: number) {
    this.#access = access;
    this.#notices = notices;
    this.holder = holder;
    this.#leaseMs = leaseMs;
    this.#beatMs = leaseTimes(leaseMs).beatMs;
  }

  async beat(own: OwnLife, choose: (found: Found) => readonly string[]): Promise<Beat> {
    const { beat, gaveUp } = await this.#access.beat(this.#beatMs, (tx) => this.#beat(tx, own, choose));
    if (gaveUp) void this.tell({ kind: 'given-up' });
    const known = new Set(beat.duties.map(({ duty }) => duty));
    const missing = own.wants.filter((duty) => !known.has(duty));
    if (missing.length === 0) return beat;
    // A transaction of its own: until it is committed, others that add the same duties wait for it.
    await this.#access.beat(this.#beatMs, (tx) => tx.run(ADD_DUTIES, [texts(missing), tx.now]));
    return (await this.#access.beat(this.#beatMs, (tx) => this.#beat(tx, own, choose))).beat;
  }

  async leave(): Promise<void> {
    await this.remove(this.holder);
  }

  async remove(holder: string, lastBeat?: string): Promise<boolean> {
    const isRemoved = await this.#access.beat(this.#beatMs, async (tx) => {
      if (holder === this.holder) await tx.run(UNMISS, [holder]);
      else await tx.run(MISS, [holder, lastBeat ?? null, tx.now - MISSING_MS]);
      await tx.run(REMOVE, [holder, lastBeat ?? null]);
      if (await tx.first(IS_KNOWN, [holder])) return false;
      await tx.run(KEEP, [holder, texts([]), tx.now, tx.now]);
      return true;
    });
    if (isRemoved) await this.tell({ kind: 'given-up' });
    return isRemoved;
  }

  tell(message: Message): Promise<void> {
    return this.#notices.send(JSON.stringify(message));
  }

  onMessage(hear: (message: Message) => void): void {
    this.#notices.onMessage((message) => hear(JSON.parse(message) as Message));
  }

  async #beat(tx: Transaction, own: OwnLife, choose: (found: Found) => readonly string[]) {
    const { holder } = this;
    const { machine, role, sinks, folders, wants, reluctant, facts } = own;
    const until = tx.now + this.#leaseMs;
    await tx.rows(LIMIT, [String(Math.ceil(this.#beatMs / 2))]);
    await tx.run(SHOW_LIFE, [
      holder,
      machine,
      role,
      JSON.stringify(sinks),
      JSON.stringify(folders),
      JSON.stringify(wants),
      JSON.stringify(reluctant),
      tx.now,
      JSON.stringify(facts ? storedFacts(facts, tx.now) : null),
    ]);
    // Only now: a copy that marks the ledger either sees this process, or has let it wait until the mark was there.
    await requireStillHere(tx, this.#access.where);
    const kept = await tx.rows(KEEP, [holder, texts(wants), tx.now, until]);
    const found = await find(tx);
    if (found.processes.some(({ seenMsAgo }) => seenMsAgo > FORGOTTEN_MS))
      await tx.run(FORGET_PROCESSES, [tx.now - FORGOTTEN_MS]);
    const taken = await this.#take(tx, found, choose(found));
    const held: HeldToken[] = kept.filter((duty) => duty.holder !== null);
    const beat: Beat = {
      processes: found.processes,
      duties: found.duties.map((duty) => taken.get(duty.duty) ?? duty),
      held: [...held, ...taken.values()].map(({ duty, token }) => ({ duty, token })),
    };
    return { beat, gaveUp: held.length < kept.length };
  }

  async #take(tx: Transaction, found: Found, chosen: readonly string[]): Promise<Map<string, KnownDuty>> {
    const free = found.duties.filter(({ duty }) => chosen.includes(duty));
    if (free.length === 0) return new Map();
    const rows = await tx.rows(TAKE, [
      this.holder,
      tx.now,
      tx.now + this.#leaseMs,
      texts(free.map(({ duty }) => duty)),
      texts(free.map(({ token }) => token)),
      free.map(({ renewals }) => renewals),
    ]);
    const taken = { holder: this.holder, renewals: 0, heldForMs: 0, leftMs: this.#leaseMs };
    return new Map(rows.map((row) => [row.duty, { ...row, ...taken }]));
  }
}

/** Returns what a process shows to people as the ledger stores it: with its clock compared with the ledger's. */
function storedFacts(
  { version, config, clockMs, reload }: ProcessFacts,
  nowMs: number,
): NonNullable<ProcessRow['facts']> {
  return { version, config, clockAheadMs: clockMs - nowMs, reload };
}

async function find(tx: Transaction): Promise<Found> {
  const processes = await tx.rows(PROCESSES);
  const duties = await tx.rows(DUTIES);
  return {
    processes: processes.map(({ holder, machine, role, sinks, folders, wants, reluctant, seen_at }) => ({
      holder,
      machine,
      role,
      sinks: JSON.parse(sinks) as string[],
      folders: JSON.parse(folders) as string[],
      wants: JSON.parse(wants) as string[],
      reluctant: JSON.parse(reluctant) as string[],
      seenMsAgo: tx.now - seen_at,
      lastBeat: String(seen_at),
    })),
    duties: duties.map(({ duty, holder, token, renewals, since, held_until }) => ({
      duty,
      holder: holder ?? undefined,
      token,
      renewals,
      heldForMs: tx.now - since,
      leftMs: held_until - tx.now,
    })),
  };
}
