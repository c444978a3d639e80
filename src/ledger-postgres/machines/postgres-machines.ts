import type { Beat, Found, HeldToken, KnownDuty, Machines, OwnLife } from '../../ledger/contract/machines.ts';
import { leaseTimes } from '../../ledger/rules/machines/lease-times.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { machinesSql } from './machines-sql.ts';

const { ADD_DUTIES, DUTIES, FORGET_PROCESSES, KEEP, LEAVE, LIMIT, PROCESSES, SHOW_LIFE, TAKE } = machinesSql;

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

  constructor(access: PostgresAccess, holder: string, leaseMs: number) {
    this.#access = access;
    this.holder = holder;
    this.#leaseMs = leaseMs;
    this.#beatMs = leaseTimes(leaseMs).beatMs;
  }

  async beat(own: OwnLife, choose: (found: Found) => readonly string[]): Promise<Beat> {
    const beat = await this.#access.beat(this.#beatMs, (tx) => this.#beat(tx, own, choose));
    const known = new Set(beat.duties.map(({ duty }) => duty));
    const missing = own.wants.filter((duty) => !known.has(duty));
    if (missing.length === 0) return beat;
    // A transaction of its own: until it is committed, others that add the same duties wait for it.
    await this.#access.beat(this.#beatMs, (tx) => tx.run(ADD_DUTIES, [texts(missing), tx.now]));
    return this.#access.beat(this.#beatMs, (tx) => this.#beat(tx, own, choose));
  }

  async leave(): Promise<void> {
    await this.#access.beat(this.#beatMs, async (tx) => {
      await tx.run(KEEP, [this.holder, texts([]), tx.now, tx.now]);
      await tx.run(LEAVE, [this.holder]);
    });
  }

  async #beat(tx: Transaction, own: OwnLife, choose: (found: Found) => readonly string[]): Promise<Beat> {
    const { holder } = this;
    const { machine, role, wants, reluctant } = own;
    const until = tx.now + this.#leaseMs;
    await tx.rows(LIMIT, [String(Math.ceil(this.#beatMs / 2))]);
    await tx.run(SHOW_LIFE, [
      holder,
      machine,
      role,
      JSON.stringify(wants),
      JSON.stringify(reluctant),
      tx.now,
    ]);
    const kept = await tx.rows(KEEP, [holder, texts(wants), tx.now, until]);
    const found = await find(tx);
    if (found.processes.some(({ seenMsAgo }) => seenMsAgo > FORGOTTEN_MS))
      await tx.run(FORGET_PROCESSES, [tx.now - FORGOTTEN_MS]);
    const taken = await this.#take(tx, found, choose(found));
    const held: HeldToken[] = kept.filter((duty) => duty.holder !== null);
    return {
      processes: found.processes,
      duties: found.duties.map((duty) => taken.get(duty.duty) ?? duty),
      held: [...held, ...taken.values()].map(({ duty, token }) => ({ duty, token })),
    };
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

async function find(tx: Transaction): Promise<Found> {
  const processes = await tx.rows(PROCESSES);
  const duties = await tx.rows(DUTIES);
  return {
    processes: processes.map(({ holder, machine, role, wants, reluctant, seen_at }) => ({
      holder,
      machine,
      role,
      wants: JSON.parse(wants) as string[],
      reluctant: JSON.parse(reluctant) as string[],
      seenMsAgo: tx.now - seen_at,
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
