import type Database from 'better-sqlite3';
import type { ErasureCounts } from '../leads/person.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { LedgerPersons } from './contract/ledger-persons.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import { runInChunks } from './database/run-in-chunks.ts';
import type { SinkRows } from './database/sink-rows.ts';
import { Erasing } from './privacy/erasing.ts';
import { PersonSearch } from './privacy/person-search.ts';
import { SubjectRows } from './privacy/subject-rows.ts';
import { sumOf } from './rules/privacy/erasure-progress.ts';
import { personOf } from './rules/privacy/person-rows.ts';

/** Returns the SQLite implementation of `LedgerPersons`. */
export function personsOf(db: Database.Database, access: LedgerAccess, clock: Clock, rows: SinkRows) {
  const search = new PersonSearch(db);
  const erasing = new Erasing(db, clock, rows);
  const subjectRows = new SubjectRows(db);

  const allOf = async <T>(
    part: (after: number) => { readonly found: readonly T[]; readonly next: number | undefined },
  ): Promise<T[]> => {
    const all: T[] = [];
    let after = 0;
    await runInChunks(async () => {
      const { found, next } = await access.read(() => part(after));
      all.push(...found);
      after = next ?? after;
      return next === undefined;
    });
    return all;
  };

  return {
    findPerson: async (subject, source) => {
      if (subject.kind === 'lead') {
        const { lead } = subject;
        return access.read(() => ({
          leads: search.leadsNamed(lead, source),
          rejected: search.rejectedNamed(lead, source),
        }));
      }
      const leads = await allOf((after) => search.leads(subject, source, after));
      const rejected = await allOf((after) => search.rejected(subject, source, after));
      return personOf(leads, rejected);
    },

    personRecord: (person) => access.read(() => subjectRows.of(person)),

    erase: async (person, notifySinks) => {
      const rejectedCount = await access.write(() => erasing.begin(person));
      const parts: ErasureCounts[] = [];
      for (const lead of person.leads) parts.push(await access.write(() => erasing.lead(lead, notifySinks)));
      return sumOf(parts, rejectedCount);
    },

    sinkErasures: (leads) => access.read(() => erasing.progress(leads)),
    formerDestinations: (leads) => access.read(() => erasing.formerDestinations(leads)),
    unfinishedErasures: () => access.read(() => erasing.unfinished()),
    erasedLeads: () => access.read(() => erasing.erasedLeads()),
    finishErasing: (leads) => access.write(() => erasing.finish(leads)),
  } satisfies LedgerPersons;
}
