import type Database from 'better-sqlite3';
import type { Batch, Delivery } from '../../../src/leads/delivery.ts';

/** The versions of leads that the ledger has on disk, numbered in the order in which they were recorded. */
export class Versions {
  readonly #newest: Database.Statement<[], number>;
  readonly #hasNewer: Database.Statement<[string, bigint, number, number], unknown>;

  constructor(db: Database.Database) {
    this.#newest = db.prepare<[], number>('SELECT coalesce(max(version_no), 0) FROM _versions').pluck();
    this.#hasNewer = db.prepare(
      'SELECT 1 FROM _versions WHERE source = ? AND id = ? AND version > ? AND version_no <= ? LIMIT 1',
    );
  }

  /** Returns the number of the newest version. */
  newest(): number {
    return this.#newest.get() ?? 0;
  }

  /** Returns the deliveries of a batch whose lead already had a newer content when version `newest` was the newest. */
  outdated({ deliveries }: Batch, newest: number): readonly Delivery[] {
    return deliveries.filter(
      ({ source, leadId, version }) => this.#hasNewer.get(source, leadId, version, newest) !== undefined,
    );
  }
}
